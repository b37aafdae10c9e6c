# SPDX-License-Identifier: Apache-2.0
"""Strict `exclusive`: whole hosts, racks or zones for one group alone.

What the group leaves free on the hosts of its domains is held by *fillers*,
consumers of type VRT_EXCLUSIVE. They are written together with the members'
holds, so a domain is the group's as a whole or not at all. Whatever becomes
free later, is added, or is not needed any more is seen to by keeping, see
scheduler/protocol/keep.py.

To other groups fillers are what any foreign consumer is. To the group itself
they give way: a member that comes by a revision takes their place.
"""

import itertools

from nova_groupext import exception
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import filling
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import hosts


def policies(group):
    """Return the strict policies `exclusive` of a group."""
    if not group.has_policy('exclusive'):
        return []
    found = definition.read(group).policies
    return [p for p in found if p.type == 'exclusive' and p.strict]


def fillers(context, ledger, group, plan):
    """Return the fillers that a plan needs, not created yet.

    :raises: HoldFailed when somebody else is on one of the hosts, or it is
        not known which hosts there are
    :raises: PlacementUnavailable
    """
    found = []
    for node in _planned_nodes(context, group, plan):
        found += _around(context, ledger, group, node, plan.placement, set())
    return found


def refilled(context, ledger, group, draft, plan, arriving, leaving):
    """Return what becomes of fillers when a group is as it is drafted.

    They are made anew where somebody comes and on hosts that are new to the
    group. What it does not need any more is left to keep().

    :param plan: VRTPlan of the draft
    :param arriving: the part of its placement that is new
    :param leaving: VRTHolds of the group that nobody needs after that
    :returns: (fillers that are needed, not created yet, fillers of the group
        that give way to these)
    :raises: as fillers() does
    """
    old = [
        row
        for row in VRTHold.list_by_group(context, group.id, *states.PROMISED)
        if row.is_filler
    ]
    changing = {seat['provider'] for seat in arriving.values()}
    kept = {row.provider_uuid for row in old} - changing
    found, giving_way = [], [r for r in old if r.provider_uuid in changing]
    gone = {row.uuid for row in (*leaving, *giving_way)}
    for node in _planned_nodes(context, draft, plan):
        if node.uuid not in kept:
            found += _around(context, ledger, group, node, arriving, gone)
    return found, giving_way


def _planned_nodes(context, group, plan):
    seats = {
        path: (seat['host'], seat['provider'])
        for path, seat in plan.placement.items()
    }
    try:
        mine = alone(context, group, seats)
        found = [node for h in mine for node in nodes(context, mine, h)]
    except db_errors.ANY as exc:
        raise exception.HoldFailed(reason='a cell did not answer') from exc
    return sorted(found, key=lambda node: node.uuid)


def _around(context, ledger, group, node, arriving, gone):
    """Return the fillers that a host needs besides those who come.

    :param arriving: as a placement
    :param gone: uuids of consumers that leave at the same time
    """
    used = ledger.used(context, node.uuid) or {}
    _refuse_strangers(context, group, node.uuid, used)
    return filling.around(
        *(context, ledger, group.id, node, used, gone),
        {path: seat['allocations'] for path, seat in arriving.items()},
    )


def refuse_strangers(context, ledger, group, rows):
    """Make sure, after holding, that nobody else got in meanwhile.

    :raises: HoldFailed, PlacementUnavailable
    """
    written = {row.uuid for row in rows}
    for provider in {row.provider_uuid for row in rows if row.is_filler}:
        used = ledger.used(context, provider) or {}
        _refuse_strangers(context, group, provider, used.keys() - written)


def keeps(group, path):
    """Tell whether a member is bound to where it is: its domain is filled."""
    return any(
        path in side for policy in policies(group) for side in policy.sides
    )


def alone(context, group, seats):
    """Return the hosts that a group has to itself, by name.

    :param seats: {member path: (host, provider)}
    :returns: {host: uuids of its nodes, or None for all that it has}
    """
    found = {}
    for policy in policies(group):
        used = {
            seats[path]
            for path in itertools.chain(*policy.sides)
            if path in seats
        }
        names = {host for host, _provider in used}
        if policy.scope != 'host' and names:
            names = hosts.neighbours(context, policy.scope, names)
            found |= dict.fromkeys(names)
        for name, provider in used:
            # A host of several nodes is not a domain: each node is one.
            if found.setdefault(name, set()) is not None:
                found[name].add(provider)
    return found


def nodes(context, mine, host):
    """Return the ComputeNodes of a host that a group has to itself.

    :param mine: what alone() has returned
    :raises: one of db.errors.ANY when its cell does not answer
    """
    if host not in mine:
        return []
    only = mine[host]
    return [
        node
        for node in hosts.nodes(context, host)
        if only is None or node.uuid in only
    ]


def _refuse_strangers(context, group, provider, used):
    strangers = verification.strangers(context, group.id, used)
    if strangers:
        raise exception.HoldFailed(
            reason=f'{sorted(strangers)} are on {provider}'
        )

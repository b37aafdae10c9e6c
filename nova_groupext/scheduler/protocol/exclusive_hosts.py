# SPDX-License-Identifier: Apache-2.0
"""Strict `exclusive` policies: whole hosts, racks or zones for one group.

*Placeholders*, consumers of type VRT_EXCLUSIVE, own the free capacity of the
hosts in the group's domains. They are written together with the members'
holds, so that a domain belongs to the group as a whole or not at all.
Capacity that is freed or added later, and placeholders that are no longer
needed, are the task of maintain.py.

To other groups a placeholder is a foreign consumer. For the group itself, a
revision replaces placeholders by new members.
"""

import itertools

from nova_groupext import exception
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import placeholders


def policies(group):
    """Return the strict `exclusive` policies of a group."""
    if not group.has_policy('exclusive'):
        return []
    found = definition.read(group).policies
    return [p for p in found if p.type == 'exclusive' and p.strict]


def placeholders_for(context, ledger, group, plan):
    """Return the placeholders that a plan needs, not stored yet.

    :raises: HoldFailed when a foreign consumer is on one of the hosts, or a
        cell does not answer; PlacementUnavailable
    """
    found = []
    for node in _planned_nodes(context, group, plan):
        found += _around(context, ledger, group, node, plan.placement, set())
    return found


def refilled_with(context, ledger, group, draft, plan, arriving, leaving):
    """Return the changes of placeholders that a revision needs.

    Placeholders are replaced where members arrive, and created on hosts that
    are new to the group. maintain.keep() removes those no longer needed.

    :param plan: VRTPlan of the draft
    :param arriving: the new entries of its placement
    :param leaving: VRTHolds of the group that the draft does not need
    :returns: (placeholders to create, not stored yet, and those of the group
        that they replace)
    :raises: as placeholders_for() does
    """
    old = [
        row
        for row in VRTHold.list_by_group(
            context, group.id, *states.HOLD_COMMITTED
        )
        if row.is_placeholder
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
        mine = exclusive_groups_on(context, group, seats)
        found = [node for h in mine for node in nodes(context, mine, h)]
    except database_errors.ANY as exc:
        raise exception.HoldFailed(reason='a cell did not answer') from exc
    return sorted(found, key=lambda node: node.uuid)


def _around(context, ledger, group, node, arriving, gone):
    """Return the placeholders that a host needs beside arriving members.

    :param arriving: in the form of VRTPlan.placement
    :param gone: uuids of consumers that leave in the same request
    """
    used = ledger.used(context, node.uuid) or {}
    _refuse_strangers(context, group, node.uuid, used)
    return placeholders.around(
        *(context, ledger, group.id, node, used, gone),
        {path: seat['allocations'] for path, seat in arriving.items()},
    )


def refuse_strangers(context, ledger, group, rows):
    """Raise if a foreign consumer came to an exclusive host during the hold.

    :raises: HoldFailed, PlacementUnavailable
    """
    written = {row.uuid for row in rows}
    for provider in {row.provider_uuid for row in rows if row.is_placeholder}:
        used = ledger.used(context, provider) or {}
        _refuse_strangers(context, group, provider, used.keys() - written)


def keeps(group, path):
    """Check whether a strict `exclusive` policy confines a member."""
    return any(
        path in side for policy in policies(group) for side in policy.sides
    )


def exclusive_groups_on(context, group, seats):
    """Return the exclusive hosts of a group, by name.

    :param seats: {member path: (host, provider)}
    :returns: {host: uuids of its exclusive nodes, or None for all its nodes}
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
            # At scope host the domain is a compute node, not a compute host.
            if found.setdefault(name, set()) is not None:
                found[name].add(provider)
    return found


def nodes(context, mine, host):
    """Return the ComputeNodes of a host that are exclusive to a group.

    :param mine: result of exclusive_groups_on()
    :raises: one of database_errors.ANY when its cell does not answer
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
    strangers = overcommitment.foreign_consumers(context, group.id, used)
    if strangers:
        raise exception.HoldFailed(
            reason=f'{sorted(strangers)} are on {provider}'
        )

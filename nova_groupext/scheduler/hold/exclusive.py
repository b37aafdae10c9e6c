# SPDX-License-Identifier: Apache-2.0
"""Strict `exclusive`: whole hosts, racks or zones for one group alone.

What the group leaves free on the hosts of its domains is held by *fillers*,
consumers of type VRT_EXCLUSIVE. They are written together with the members'
holds, so a domain is the group's as a whole or not at all. Whatever becomes
free later, is added, or is not needed any more is seen to by ``keep``, which
planners call often. What a member gives up is never free: ``give_back``
exchanges it for fillers.

To other groups fillers are what any foreign consumer is. To the group itself
they give way: a member that is held again takes their place.
"""

import collections
import itertools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.hold import filling
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import hosts

LOG = logging.getLogger(__name__)


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
        alone = _hosts(context, group, seats)
        found = [node for h in alone for node in _nodes(context, alone, h)]
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


def keep(context, ledger, group, known):
    """Hold what is free on a group's hosts; let go what it needs no more.

    Only who has the group's lease knows that nothing changes hands. What
    cannot be done for one host now is left for the next round.

    :param known: set of the strangers that the log has told of already
    """
    rows = VRTHold.list_by_group(
        context, group.id, *states.PROMISED, states.Hold.RELEASING
    )
    # After the rows: a group that was revised since it was read would not
    # know whose they are, nor that their hosts are needed.
    group = VRTGroup.find(context, group.uuid)
    if group is None:
        return
    by_host = collections.defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    own = {row.uuid for row in rows}
    own.update(member.server_uuid for member in group.members)
    alone = _hosts(context, group, _seats(group, rows))
    for host in sorted({*by_host, *alone}):
        with trouble.passed_over(f'Host {host} of VRT group {group.uuid}'):
            nodes = _nodes(context, alone, host)
            others = _keep(context, ledger, group, nodes, by_host[host]) - own
            if others:
                _tell(context, group, host, others, known)


def _keep(context, ledger, group, nodes, there):
    """Keep one host.

    :param nodes: those ComputeNodes of it that the group has to itself
    :param there: the group's VRTHolds there, in PROMISED or RELEASING
    :returns: set of the consumers that are on these
    """
    needed = {node.uuid for node in nodes}
    filling.dismiss(
        context,
        ledger,
        [r for r in there if r.is_filler and r.provider_uuid not in needed],
    )
    found = set()
    for node in nodes:
        mine = [row for row in there if row.provider_uuid == node.uuid]
        found |= filling.top_up(context, ledger, group, node, mine)
    return found


def give_back(context, ledger, holds):
    """Empty what leaves; where its group is alone, fillers take its place.

    Where these are refused it is emptied all the same: nothing waits for
    ever. Of a host about which nothing is known it stays, for the reaper.

    :param holds: VRTHolds; those in other states than RELEASING stay
    """
    by_host = collections.defaultdict(list)
    for hold in holds:
        if hold.status == states.Hold.RELEASING:
            by_host[hold.group_id, hold.host].append(hold)
    known = {}
    for (group_id, host), there in by_host.items():
        with trouble.passed_over(f'What leaves host {host}'):
            group, rows = _seen(context, group_id, known.get(group_id))
            known[group_id] = group
            if group is not None:
                _exchange(context, ledger, group, rows, host, there)
            emptying.empty(context, ledger, there)


def undo(context, ledger, rows):
    """Give back what was held in vain, as give_back() does."""
    give_back(context, ledger, holding.retired(context, rows))


def _seen(context, group_id, group):
    """Return a group that may be alone, and its holds, as of one moment.

    Its definition is much to read: that is done again only after a change.

    :param group: VRTGroup as it was read before, or None
    :returns: (VRTGroup, its promised VRTHolds), or (None, None)
    """
    while True:
        group = group or VRTGroup.find_alone(context, group_id)
        if group is None:
            return None, None
        rows = VRTHold.list_by_group(context, group.id, *states.PROMISED)
        if group.is_unchanged(context):
            return group, rows
        group = None


def _exchange(context, ledger, group, rows, host, leaving):
    """Let fillers take the place of what leaves a host, if it is needed.

    Only that changes: it may be done while a revision exchanges the rest.

    :param rows: the promised VRTHolds of the group
    :raises: PlacementUnavailable, or one of db.errors.ANY when a cell
        does not answer
    """
    alone = _hosts(context, group, _seats(group, rows))
    for node in _nodes(context, alone, host):
        there = [row for row in leaving if row.provider_uuid == node.uuid]
        if there:
            filling.top_up(context, ledger, group, node, there)


def keeps(group, path):
    """Tell whether a member is bound to where it is: its domain is filled."""
    return any(
        path in side for policy in policies(group) for side in policy.sides
    )


def _seats(group, rows):
    """Return {member path: (host, provider)} of all that have a place."""
    if group.status not in states.HOLDS:
        return {}
    paths = {member.id: member.path for member in group.members}
    return {
        paths[row.member_id]: (row.host, row.provider_uuid)
        for row in rows
        if row.status in states.PROMISED and row.member_id in paths
    }


def _hosts(context, group, seats):
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


def _nodes(context, alone, host):
    """Return the ComputeNodes of a host that a group has to itself.

    :param alone: what _hosts() has returned
    :raises: one of db.errors.ANY when its cell does not answer
    """
    if host not in alone:
        return []
    only = alone[host]
    return [
        node
        for node in hosts.nodes(context, host)
        if only is None or node.uuid in only
    ]


def _tell(context, group, host, consumers, known):
    strangers = {
        (group.uuid, host, consumer)
        for consumer in verification.strangers(context, group.id, consumers)
    }
    for stranger in sorted(strangers - known):
        LOG.warning(
            'VRT group %s is to be alone on host %s, but consumer %s of '
            'Placement is there; it is left alone.',
            *stranger,
        )
    known |= strangers


def _refuse_strangers(context, group, provider, used):
    strangers = verification.strangers(context, group.id, used)
    if strangers:
        raise exception.HoldFailed(
            reason=f'{sorted(strangers)} are on {provider}'
        )

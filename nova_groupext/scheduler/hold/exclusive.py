# SPDX-License-Identifier: Apache-2.0
"""Strict `exclusive`: whole hosts, racks or zones for one group alone.

What the group leaves free on the hosts of its domains is held by *fillers*,
consumers of type VRT_EXCLUSIVE. They are written together with the members'
holds, so a domain is the group's as a whole or not at all. Whatever becomes
free later, is added, or is not needed any more is seen to by ``keep``, which
planners call often.

To other groups fillers are what any foreign consumer is. To the group itself
they give way: a member that is held again takes their place.
"""

import itertools

from oslo_db import exception as db_exc
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import ledger as placement
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler import verification
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


def shares(inventory, rest):
    """Split what is left of a resource into amounts that Placement allows.

    :param inventory: as Placement has it; no consumer gets more than its
        max_unit, less than its min_unit, or anything but whole steps
    :param rest: how much is left; what remains of it is too little for
        anybody
    """
    step = inventory['step_size']
    most = inventory['max_unit'] // step
    least = -(-inventory['min_unit'] // step)
    steps = int(rest // step)
    if steps < least or most < least:
        return []
    parts = -(-steps // most)
    if steps < parts * least:
        parts -= 1
        steps = parts * most
    size, larger = divmod(steps, parts)
    return [step * (size + (part < larger)) for part in range(parts)]


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
        return _nodes(context, group, seats)
    except db_exc.DBError as exc:
        raise exception.HoldFailed(reason='a cell did not answer') from exc


def _around(context, ledger, group, node, arriving, gone):
    """Return the fillers that a host needs besides those who come.

    :param arriving: as a placement
    :param gone: uuids of consumers that leave at the same time
    """
    used = ledger.used(context, node.uuid) or {}
    _refuse_strangers(context, group, node.uuid, used)
    then = {uuid: used[uuid] for uuid in used.keys() - gone}
    for path, seat in arriving.items():
        if node.uuid in seat['allocations']:
            then[path] = seat['allocations'][node.uuid]['resources']
    inventories = ledger.inventories(context, node.uuid)
    return _fillers(group, node, inventories, then)


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

    Several planners may do that at once: Placement gives what is free to one.

    :param known: set of the strangers that the log has told of already
    :raises: PlacementUnavailable, or DBError when a cell does not answer
    """
    rows = VRTHold.list_by_group(
        context, group.id, *states.PROMISED, states.Hold.LEAVING
    )
    nodes = _nodes(context, group, _seats(group, rows))
    needed = {node.uuid for node in nodes}
    dismiss(
        context,
        ledger,
        [r for r in rows if r.is_filler and r.provider_uuid not in needed],
    )
    own = {row.uuid for row in rows}
    own.update(member.server_uuid for member in group.members)
    for node in nodes:
        there = [row for row in rows if row.provider_uuid == node.uuid]
        others = _top_up(context, ledger, group, node, there) - own
        if others:
            _tell(context, group, node.host, others, known)


def dismiss(context, ledger, rows):
    """Give back fillers."""
    if rows:
        with faultpoints.around('fill.dismiss'):
            VRTHold.dismiss(context, rows)
        uuids = [row.uuid for row in rows]
        for row in VRTHold.list_by_uuids(context, uuids):
            releasing.leave(context, row, ledger)


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


def _nodes(context, group, seats):
    """Return the ComputeNodes that a group has to itself.

    :param seats: {member path: (host, provider)}
    """
    found = {}
    for policy in policies(group):
        used = {
            seats[path]
            for path in itertools.chain(*policy.sides)
            if path in seats
        }
        names = {host for host, _provider in used}
        if names:
            names = hosts.neighbours(context, policy.scope, names)
        for name in names:
            for node in hosts.nodes(context, name):
                # A host of several nodes is not a domain: each node is one.
                if policy.scope != 'host' or (name, node.uuid) in used:
                    found[node.uuid] = node
    return sorted(found.values(), key=lambda node: node.uuid)


def _fillers(group, node, inventories, used):
    rest = placement.left(inventories, used)
    split = {
        name: shares(each, rest[name]) for name, each in inventories.items()
    }
    parts = itertools.zip_longest(*split.values(), fillvalue=0)
    return [
        VRTHold.filler(
            group.id,
            node,
            {
                n: amount
                for n, amount in zip(split, part, strict=True)
                if amount
            },
        )
        for part in parts
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


def _top_up(context, ledger, group, node, there):
    """Let fillers take what is free on a host, and what leaves it.

    What leaves, and the filler that takes its place, change in one request:
    nobody can come in between.

    :param there: VRTHolds of the group, in PROMISED or LEAVING
    :returns: the consumers that were on the host
    """
    used = ledger.used(context, node.uuid) or {}
    inventories = ledger.inventories(context, node.uuid)
    lost = set()
    if min(placement.left(inventories, used).values(), default=0) < 0:
        lost = verification.losers_on(context, ledger, node.uuid, used)
    leaving = [each for each in there if _leaves(each, used, lost)]
    staying = used.keys() - {each.uuid for each in leaving}
    wanted = _fillers(
        group, node, inventories, {each: used[each] for each in staying}
    )
    if not wanted or _hold(context, ledger, group, wanted, leaving):
        dismiss(context, ledger, leaving)
    return used.keys()


def _leaves(hold, used, lost):
    """Tell whether the place of a hold is another's, or nobody's, now."""
    is_there = hold.uuid in used
    if hold.status == states.Hold.LEAVING:
        return is_there
    return hold.is_filler and (hold.uuid in lost or not is_there)


def _hold(context, ledger, group, wanted, leaving):
    """Write fillers; returns whether the group has them."""
    with faultpoints.around('fill.write_down'):
        rows = VRTHold.create_all(context, wanted)
    try:
        ledger.hold(context, rows, leaving)
        is_held = not verification.losers(context, ledger, rows)
    except exception.HoldFailed as exc:
        LOG.info('VRT group %s: %s', group.uuid, exc)
        is_held = False
    if is_held:
        with faultpoints.around('fill.commit'):
            is_held = transitions.promise(context, group, rows)
    if not is_held:
        holding.undo(context, rows, ledger)
    return is_held


def _refuse_strangers(context, group, provider, used):
    strangers = verification.strangers(context, group.id, used)
    if strangers:
        raise exception.HoldFailed(
            reason=f'{sorted(strangers)} are on {provider}'
        )

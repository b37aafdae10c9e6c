# SPDX-License-Identifier: Apache-2.0
"""Keep: what ends is given back, but where its group is to be alone.

There it is exchanged for fillers, and what is free is filled. Whoever has the
lease of the group does so host by host:

1. What the host has is compared with the rows: of the fillers those stay that
   Placement shows and that fit. What is left is cut into new ones.
2. One transaction: fillers that do not stay are RELEASING, new ones WRITING.
3. One request: what is RELEASING is emptied, what is WRITING is filled. So
   nobody can come in between.
4. What was filled is verified.
5. One transaction: WRITING is HELD. What was emptied is RELEASED.

Where Placement refuses, the host is looked at again. If it goes on refusing,
what is RELEASING is emptied all the same: nothing waits for ever.

=============  =====================================  ========================
who dies at    leaves behind                          and who goes on
=============  =====================================  ========================
after 2 or 3   WRITING, filled or not                 who takes the lease: the
                                                      rows are RELEASING, and
                                                      watched; then this again
after 5        RELEASING that owns nothing            the next who keeps
=============  =====================================  ========================
"""

import collections

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import ledger as placement
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import filling
from nova_groupext.scheduler.hold import holding

LOG = logging.getLogger(__name__)

# A planner looks at a host so often; then it empties what leaves all the same.
LOOKS = 3


def keep(context, ledger, lease, group, known=None):
    """Give back what ends of a group; fill the hosts that are its own.

    What cannot be done for one host now is left for the next round.

    :param ledger: ledger.Ledger
    :param lease: VRTLease of the group
    :param group: VRTGroup, read since it is leased; or a draft of it
    :param known: set of the strangers that the log has told of already
    :returns: whether every server has what it has redeemed there; else its
        place is left open until it is known what became of it
    """
    is_whole = True
    rows = VRTHold.list_kept(context, group.id)
    by_host = collections.defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    alone = exclusive.alone(context, group, _seats(group, rows))
    own = {row.uuid for row in rows}
    own.update(member.server_uuid for member in group.members)
    for host in sorted({*by_host, *alone}):
        with trouble.passed_over(f'Host {host} of VRT group {group.uuid}'):
            nodes = exclusive.nodes(context, alone, host)
            _let_go(context, ledger, lease, nodes, by_host[host])
            for node in nodes:
                there = _keep(context, ledger, lease, group, node)
                is_whole &= _is_whole(by_host[host], node, there)
                _tell(context, group, host, there - own, known)
    return is_whole


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


def _is_whole(rows, node, there):
    """Return whether every server has what it has redeemed on a node."""
    return all(
        {row.uuid, row.server_uuid} & there
        for row in rows
        if row.status == states.Hold.REDEEMED
        and row.provider_uuid == node.uuid
    )


def _let_go(context, ledger, lease, nodes, there):
    """Give back what is where the group need not be alone.

    :param nodes: the ComputeNodes of a host that it has to itself
    :param there: its VRTHolds there
    """
    kept = {node.uuid for node in nodes}
    others = [row for row in there if row.provider_uuid not in kept]
    fillers = [row for row in others if row.is_held_filler]
    if fillers:
        swaps.write_down(
            context, lease, lambda: VRTHold.dismiss(context, fillers)
        )
        others = VRTHold.list_by_uuids(context, [row.uuid for row in others])
    emptying.empty(context, ledger, others)


def _keep(context, ledger, lease, group, node):
    """Fill what is free on one host, in one request with what leaves.

    :param node: ComputeNode
    :returns: set of the consumers that were there
    :raises: PlacementUnavailable, GroupBusy
    """
    for _look in range(LOOKS):
        used = ledger.used(context, node.uuid) or {}
        rows = VRTHold.list_on(context, group.id, node.uuid)
        leaving = [r for r in rows if r.status == states.Hold.RELEASING]
        going, wanted = _cut(
            *(context, ledger, group, node), used, rows, leaving
        )
        if going or wanted:
            written = _write_down(context, lease, used, going, wanted)
            going = VRTHold.still(context, going, states.Hold.RELEASING)
            leaving += going
        if not wanted or not written:
            break
        _refill(context, ledger, used, leaving)
        if _exchange(context, ledger, group, leaving, written):
            break
        # In the next look, if there is one: the host would be open till then.
        leaving += holding.retired(context, written)
    emptying.empty(context, ledger, leaving)
    return {*used}


def _cut(context, ledger, group, node, used, rows, leaving):
    """Return (fillers that do not stay, others that are wanted).

    :param used: as Ledger.used() returned it before the rows were read
    :param rows: VRTHolds of the group on a host
    :param leaving: those of them that are RELEASING
    """
    fillers = [row for row in rows if row.is_held_filler]
    wrong = [row for row in fillers if used.get(row.uuid) != row.amounts()]
    gone = {row.uuid for row in (*leaving, *wrong)}
    inventories = ledger.inventories(context, node.uuid)
    free = placement.left(inventories, filling.without(used, gone))
    too_much = filling.give_way(
        [row for row in fillers if row not in wrong], free
    )
    gone.update(row.uuid for row in too_much)
    free = placement.left(inventories, filling.without(used, gone))
    rest = placement.left(inventories, filling.taken(used, rows, gone))
    # The host stays as full as it is, whoever may come back to it.
    for name, amount in _leaving(used, leaving).items():
        rest[name] = max(rest[name], min(free[name], amount))
    going = [*wrong, *too_much]
    return going, filling.cut(group.id, node, inventories, rest)


def _leaving(used, leaving):
    """Return {resource class: how much Placement has for what leaves}."""
    amounts = collections.Counter()
    for row in leaving:
        amounts.update(used.get(row.uuid, {}))
    return amounts


def _write_down(context, lease, used, going, wanted):
    """End fillers, and store others.

    One of which Placement shows nothing may be in its books still: it is
    watched, and filled once more before it is emptied.

    :returns: VRTHolds in state WRITING; None when the group holds nothing
        any more
    """

    def work():
        for filler in going:
            if filler.uuid not in used:
                filler.note_lost(context)
        return VRTHold.cut_anew(context, lease.group_id, going, wanted)

    with faultpoints.around('keep.write_down'):
        return swaps.write_down(context, lease, work)


def _refill(context, ledger, used, leaving):
    for row in leaving:
        if row.lost and row.uuid not in used:
            ledger.refill(context, row.uuid, row)


def _exchange(context, ledger, group, leaving, written):
    """Empty what leaves and fill what was written; tell whether it counts.

    :param leaving: VRTHolds in state RELEASING
    :param written: VRTHolds in state WRITING
    :raises: PlacementUnavailable when that is not known
    """
    try:
        ledger.hold(context, written, leaving)
        is_too_much = bool(verification.losers(context, ledger, written))
    except exception.HoldFailed as exc:
        LOG.info('VRT group %s: %s', group.uuid, exc)
        return False
    except exception.PlacementUnavailable:
        VRTHold.retire(context, written, is_watched=True)
        raise
    if is_too_much:
        return False
    with faultpoints.around('keep.commit'):
        return transitions.promise(context, group, written)


def _tell(context, group, host, consumers, known):
    known = set() if known is None else known
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

# SPDX-License-Identifier: Apache-2.0
"""Maintenance of a group's hosts: ended holds released, free capacity filled.

Outside exclusive hosts, RELEASING holds are emptied. On an exclusive host,
placeholders replace them. The owner of the group's lease processes one host
after the other:

1. Placement's usages are compared with the rows. Placeholders that Placement
   shows and that fit stay. New ones are cut from the remaining capacity.
2. One transaction: placeholders that do not stay are RELEASING, new ones
   WRITING.
3. One request: RELEASING holds are emptied, WRITING ones filled, so that no
   foreign consumer can take the capacity in between.
4. The providers are read: what was filled must not overcommit them.
5. One transaction: WRITING is HELD. After it, emptied holds are RELEASED.

If 3 or 4 fails, the planner starts again at 1, up to LOOKS attempts in all.
Then it empties RELEASING holds without filling: no hold waits forever.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
after 2 to 4   WRITING, filled or not                 next owner of the lease:
                                                      the rows are RELEASING
                                                      and watched; then 1
after 5        RELEASING that owns nothing            next maintenance
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
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol import release_holds

LOG = logging.getLogger(__name__)

# Attempts per host before RELEASING holds are emptied without a replacement.
LOOKS = 3


def keep(context, ledger, lease, group, known=None):
    """Release the ended holds of a group and fill its exclusive hosts.

    A host that cannot be processed now is postponed to the next round.

    :param ledger: PlacementClient
    :param lease: VRTLease of the group
    :param group: VRTGroup, read since it is leased; or a draft of it
    :param known: set of foreign consumers that were logged already; updated
    :returns: whether, on the exclusive hosts that were processed, every
        REDEEMED hold or its server owns an allocation
    """
    is_whole = True
    rows = VRTHold.list_kept(context, group.id)
    by_host = collections.defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    alone = exclusive_hosts.exclusive_groups_on(
        context, group, _seats(group, rows)
    )
    own = {row.uuid for row in rows}
    own.update(member.server_uuid for member in group.members)
    for host in sorted({*by_host, *alone}):
        with availability.skip_unavailable(
            f'Host {host} of VRT group {group.uuid}'
        ):
            nodes = exclusive_hosts.nodes(context, alone, host)
            _let_go(context, ledger, lease, nodes, by_host[host])
            for node in nodes:
                there = _keep(context, ledger, lease, group, node)
                is_whole &= _is_whole(by_host[host], node, there)
                _tell(context, group, host, there - own, known)
    return is_whole


def _seats(group, rows):
    """Return {member path: (host, provider)} of the members with a hold."""
    if group.status not in states.GROUP_WITH_HOLDS:
        return {}
    paths = {member.id: member.path for member in group.members}
    return {
        paths[row.owner_id]: (row.host, row.provider_uuid)
        for row in rows
        if row.status in states.HOLD_COMMITTED and row.owner_id in paths
    }


def _is_whole(rows, node, there):
    """Check whether every REDEEMED hold on a node, or its server, is there."""
    return all(
        {row.uuid, row.server_uuid} & there
        for row in rows
        if row.status == states.Hold.REDEEMED
        and row.provider_uuid == node.uuid
    )


def _let_go(context, ledger, lease, nodes, there):
    """Release holds on the nodes of a host that are not exclusive.

    :param nodes: exclusive ComputeNodes of the host
    :param there: VRTHolds of the group on the host
    """
    kept = {node.uuid for node in nodes}
    others = [row for row in there if row.provider_uuid not in kept]
    placeholder_holds = [row for row in others if row.is_held_placeholder]
    if placeholder_holds:
        swaps.write_down(
            context, lease, lambda: VRTHold.dismiss(context, placeholder_holds)
        )
        others = VRTHold.list_by_uuids(context, [row.uuid for row in others])
    release_holds.empty(context, ledger, others)


def _keep(context, ledger, lease, group, node):
    """Fill the free capacity of a node and empty RELEASING holds with it.

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
        # The next attempt empties them: here the host would be left open.
        leaving += hold_plan.retired(context, written)
    release_holds.empty(context, ledger, leaving)
    return {*used}


def _cut(context, ledger, group, node, used, rows, leaving):
    """Return (placeholders to remove, placeholders to create).

    :param used: as PlacementClient.used() returned it before the rows were
        read
    :param rows: VRTHolds of the group on the node
    :param leaving: those of them that are RELEASING
    """
    placeholder_holds = [row for row in rows if row.is_held_placeholder]
    wrong = [
        row for row in placeholder_holds if used.get(row.uuid) != row.amounts()
    ]
    gone = {row.uuid for row in (*leaving, *wrong)}
    inventories = ledger.inventories(context, node.uuid)
    free = placement_client.free_capacity(
        inventories, placeholders.without(used, gone)
    )
    too_much = placeholders.displace(
        [row for row in placeholder_holds if row not in wrong], free
    )
    gone.update(row.uuid for row in too_much)
    free = placement_client.free_capacity(
        inventories, placeholders.without(used, gone)
    )
    rest = placement_client.free_capacity(
        inventories, placeholders.taken(used, rows, gone)
    )
    # Fill at least what RELEASING holds own, even if a missing member may
    # come back: the host must not gain free capacity.
    for name, amount in _leaving(used, leaving).items():
        rest[name] = max(rest[name], min(free[name], amount))
    going = [*wrong, *too_much]
    return going, placeholders.cut(group.id, node, inventories, rest)


def _leaving(used, leaving):
    """Return {resource class: amount of RELEASING holds in Placement}."""
    amounts = collections.Counter()
    for row in leaving:
        amounts.update(used.get(row.uuid, {}))
    return amounts


def _write_down(context, lease, used, going, wanted):
    """End placeholders and store new ones, in one transaction.

    Placement may have kept the amounts of a placeholder that it does not show.
    Such a row is watched, and filled once more before it is emptied.

    :returns: VRTHolds in state WRITING; None when the group has no holds any
        more
    """

    def work():
        for placeholder in going:
            if placeholder.uuid not in used:
                placeholder.note_lost(context)
        return VRTHold.cut_anew(context, lease.group_id, going, wanted)

    with faultpoints.around('keep.write_down'):
        return swaps.write_down(context, lease, work)


def _refill(context, ledger, used, leaving):
    for row in leaving:
        if row.lost and row.uuid not in used:
            ledger.refill(context, row.uuid, row)


def _exchange(context, ledger, group, leaving, written):
    """Empty RELEASING holds, fill WRITING ones, and check the result.

    :param leaving: VRTHolds in state RELEASING
    :param written: VRTHolds in state WRITING
    :returns: whether the written ones are HELD
    :raises: PlacementUnavailable when that is unknown
    """
    try:
        ledger.hold(context, written, leaving)
        is_too_much = bool(
            overcommitment.overcommitted_holds(context, ledger, written)
        )
    except exception.HoldFailed as exc:
        LOG.info('VRT group %s: %s', group.uuid, exc)
        return False
    except exception.PlacementUnavailable:
        VRTHold.retire(context, written, is_watched=True)
        raise
    if is_too_much:
        return False
    with faultpoints.around('keep.commit'):
        return transitions.commit_placeholders(context, group, written)


def _tell(context, group, host, consumers, known):
    known = set() if known is None else known
    strangers = {
        (group.uuid, host, consumer)
        for consumer in overcommitment.foreign_consumers(
            context, group.id, consumers
        )
    }
    for stranger in sorted(strangers - known):
        LOG.warning(
            'VRT group %s is to be alone on host %s, but consumer %s of '
            'Placement is there; it is left alone.',
            *stranger,
        )
    known |= strangers

# SPDX-License-Identifier: Apache-2.0
"""Fillers of one host: what nobody of its group needs, nobody else gets.

What leaves the host, and what takes its place, change in one request: nobody
can come in between. Several planners may do that at once: Placement gives
what is free to one.
"""

import collections
import itertools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import ledger as placement
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.hold import holding

LOG = logging.getLogger(__name__)

# How often one looks at a host before others who change it at the same time
# are left alone.
LOOKS = 3

# As much of Nova's ComputeNode as a filler tells.
Node = collections.namedtuple('Node', 'host hypervisor_hostname uuid')


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


def beside(group_id, node, inventories, used):
    """Return the fillers that a host needs, not created yet.

    :param node: ComputeNode, or Node
    :param inventories: as Ledger.inventories() returns them
    :param used: what others have then, as Ledger.used() returns it
    """
    rest = placement.left(inventories, used)
    split = {
        name: shares(each, rest[name]) for name, each in inventories.items()
    }
    parts = itertools.zip_longest(*split.values(), fillvalue=0)
    return [
        VRTHold.filler(
            group_id,
            node,
            {
                n: amount
                for n, amount in zip(split, part, strict=True)
                if amount
            },
        )
        for part in parts
    ]


def top_up(context, ledger, group, node, there):
    """Let fillers take what is free on a host, and what leaves it.

    :param group: VRTGroup that has the host to itself
    :param node: ComputeNode
    :param there: VRTHolds of the group that may leave: those in RELEASING, and
        fillers
    :returns: the consumers that were on the host
    :raises: PlacementUnavailable
    """
    in_vain = []
    for _look in range(LOOKS):
        used = ledger.used(context, node.uuid) or {}
        inventories = ledger.inventories(context, node.uuid)
        lost = set()
        if min(placement.left(inventories, used).values(), default=0) < 0:
            lost = verification.losers_on(context, ledger, node.uuid, used)
        leaving = [r for r in (*there, *in_vain) if _leaves(r, used, lost)]
        staying = used.keys() - {each.uuid for each in leaving}
        wanted = beside(
            group.id, node, inventories, {each: used[each] for each in staying}
        )
        try:
            in_vain = _write(context, ledger, group, wanted, leaving)
        except exception.HoldFailed as exc:
            LOG.info('VRT group %s: %s', group.uuid, exc)
            _refill(context, ledger, [r for r in there if r.uuid not in used])
            continue
        except exception.GroupNotFound:
            # It was forgotten meanwhile: nobody is alone here any more.
            break
        dismiss(context, ledger, leaving)
        if not in_vain:
            break
    emptying.empty(context, ledger, in_vain)
    return used.keys()


def _refill(context, ledger, missing):
    """Fill placeholders once more of which Placement shows nothing.

    It may have kept their amounts, which no other placeholder gets then. The
    rows are watched: somebody may end one at this moment.

    :param missing: VRTHolds; those in RELEASING stay as they are
    """
    for row in missing:
        if row.status == states.Hold.HELD:
            row.note_lost(context)
            ledger.refill(context, row.uuid, row)


def giving_way(context, hold):
    """Return the fillers that give way to a hold on its host."""
    if hold.is_filler:
        return []
    return VRTHold.list_fillers(context, hold.group_id, hold.provider_uuid)


def cut_anew(context, ledger, hold, gone):
    """Return the fillers that a host needs beside a hold, not created yet.

    :param gone: VRTHolds that leave the host when it comes; without fillers
        among them none is needed
    """
    if not any(each.is_filler for each in gone):
        return []
    used = ledger.used(context, hold.provider_uuid) or {}
    return around(
        *(context, ledger, hold.group_id, _node(hold), used),
        gone={each.uuid for each in gone},
        arriving={hold.uuid: hold.allocations},
    )


def _node(hold):
    return Node(hold.host, hold.node, hold.provider_uuid)


def around(context, ledger, group_id, node, used, gone, arriving):
    """Return the fillers that a host needs besides those who come.

    :param used: as Ledger.used() returns it
    :param gone: uuids of consumers that leave at the same time
    :param arriving: {name: what it owns then, as VRTHold.allocations}
    :returns: VRTHolds, not created yet
    """
    then = {uuid: used[uuid] for uuid in used.keys() - gone}
    for name, allocations in arriving.items():
        if node.uuid in allocations:
            then[name] = allocations[node.uuid]['resources']
    inventories = ledger.inventories(context, node.uuid)
    return beside(group_id, node, inventories, then)


def dismiss(context, ledger, rows):
    """Give back fillers, but for those that change hands at this moment."""
    if rows:
        VRTHold.dismiss(context, rows)
        held = [row for row in rows if row.status == states.Hold.HELD]
        ending = [row for row in rows if row not in held]
        dismissed = VRTHold.list_by_uuids(context, [row.uuid for row in held])
        emptying.empty(context, ledger, [*dismissed, *ending])


def _leaves(hold, used, lost):
    """Tell whether the place of a hold is another's, or nobody's, now."""
    is_there = hold.uuid in used
    if hold.status == states.Hold.RELEASING:
        return is_there
    return hold.is_filler and (hold.uuid in lost or not is_there)


def _write(context, ledger, group, wanted, leaving):
    """Write fillers, instead of what leaves.

    :param wanted: VRTHolds, not created yet
    :returns: what was written in vain, to be emptied: VRTHolds in RELEASING
    :raises: HoldFailed when Placement refuses, PlacementUnavailable
    """
    if not wanted:
        return []
    with faultpoints.around('fill.write_down'):
        rows = VRTHold.create_fillers(context, group, wanted)
    try:
        ledger.hold(context, rows, leaving)
        is_lost = bool(verification.losers(context, ledger, rows))
    except exception.HoldFailed:
        holding.undo(context, ledger, rows)
        raise
    if not is_lost:
        with faultpoints.around('fill.commit'):
            if transitions.promise(context, group, rows):
                return []
    # Not emptied before the next look: the host would be open until then.
    return holding.retired(context, rows)

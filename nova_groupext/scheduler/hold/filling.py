# SPDX-License-Identifier: Apache-2.0
"""Fillers of one host: what nobody of its group needs, nobody else gets.

They are cut from what others leave, less what the group's rows say: a member
whose allocation is missing at this moment finds its place as it was.
"""

import collections
import itertools

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import ledger as placement

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


def cut(group_id, node, inventories, rest):
    """Return the fillers that take what is left of a host, not created yet.

    :param node: ComputeNode, or Node
    :param inventories: as Ledger.inventories() returns them
    :param rest: {resource class: how much is left of it}
    """
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


def give_way(fillers, rest):
    """Return those fillers without which nothing is too much.

    :param fillers: VRTHolds on one host
    :param rest: {resource class: how much is left with all of them}
    """
    rest, going = collections.Counter(rest), []
    for filler in sorted(fillers, key=lambda each: each.uuid):
        amounts = filler.amounts()
        if any(rest[name] < 0 for name in amounts):
            going.append(filler)
            rest.update(amounts)
    return going


def make_room(context, ledger, hold):
    """Return what becomes of fillers when a hold is to be filled anew.

    Its place is its own, but a stranger may have come there.

    :param hold: VRTHold of which Placement has nothing, or something else
    :returns: (fillers that give way, others, not created yet, for what is
        left of their places)
    :raises: PlacementUnavailable
    """
    fillers = VRTHold.list_fillers(context, hold.group_id, hold.provider_uuid)
    if hold.is_filler or not fillers:
        return [], []
    used = ledger.used(context, hold.provider_uuid) or {}
    inventories = ledger.inventories(context, hold.provider_uuid)
    then = {**used, hold.uuid: hold.amounts()}
    going = give_way(fillers, placement.left(inventories, then))
    if not going:
        return [], []
    node = Node(hold.host, hold.node, hold.provider_uuid)
    gone = {hold.uuid, *(each.uuid for each in going)}
    arriving = {hold.uuid: hold.allocations}
    return going, around(
        *(context, ledger, hold.group_id, node, used, gone, arriving)
    )


def around(context, ledger, group_id, node, used, gone, arriving):
    """Return the fillers that a host needs besides those who come.

    :param used: as Ledger.used() returned it before this is called
    :param gone: uuids of consumers that leave at the same time
    :param arriving: {name: what it owns then, as VRTHold.allocations}
    :returns: VRTHolds, not created yet
    """
    rows = VRTHold.list_on(context, group_id, node.uuid)
    then = taken(used, rows, gone)
    for name, allocations in arriving.items():
        if node.uuid in allocations:
            then[name] = allocations[node.uuid]['resources']
    inventories = ledger.inventories(context, node.uuid)
    rest = placement.left(inventories, then)
    return cut(group_id, node, inventories, rest)


def taken(used, rows, gone):
    """Return what is not to be filled, as {consumer: {class: amount}}.

    :param used: as Ledger.used() returned it before the rows were read: what
        a server has got since then, its hold had
    :param rows: VRTHolds of the group that are on the provider
    :param gone: uuids of consumers that leave
    """
    found = without(used, gone)
    for row in rows:
        if (
            row.status in states.PROMISED
            and row.uuid not in gone
            and not {row.uuid, row.server_uuid} & used.keys()
        ):
            found[row.uuid] = row.amounts()
    return found


def without(used, gone):
    """Return what is used, as Ledger.used() does, but for some consumers."""
    return {uuid: used[uuid] for uuid in used.keys() - gone}

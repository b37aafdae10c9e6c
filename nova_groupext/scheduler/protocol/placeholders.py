# SPDX-License-Identifier: Apache-2.0
"""Placeholder allocations, which keep other consumers off an exclusive host.

A placeholder is a hold without a member. Its size is the free capacity of the
host, less what the group's rows claim: a member whose allocation is missing at
this moment keeps its capacity.
"""

import collections
import itertools

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.placement import placement_client

# The attributes of Nova's ComputeNode that a placeholder needs.
Node = collections.namedtuple('Node', 'host hypervisor_hostname uuid')


def split(inventory, rest):
    """Split a free amount of a resource into amounts that Placement accepts.

    :param inventory: Placement's inventory; max_unit, min_unit and step_size
        limit each allocation
    :param rest: free amount; a part that no allocation can use is dropped
    :returns: list of amounts
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
    """Return the placeholders for the free capacity of a host, not stored yet.

    :param node: ComputeNode, or Node
    :param inventories: as PlacementClient.inventories() returns them
    :param rest: {resource class: free amount}
    """
    amounts = {
        name: split(each, rest[name]) for name, each in inventories.items()
    }
    parts = itertools.zip_longest(*amounts.values(), fillvalue=0)
    return [
        VRTHold.placeholder(
            group_id,
            node,
            {
                n: amount
                for n, amount in zip(amounts, part, strict=True)
                if amount
            },
        )
        for part in parts
    ]


def displace(placeholder_holds, rest):
    """Return the placeholders to remove so that nothing is overcommitted.

    :param placeholder_holds: VRTHolds on one host
    :param rest: {resource class: free amount, negative if overcommitted}
    """
    rest, going = collections.Counter(rest), []
    for placeholder in sorted(placeholder_holds, key=lambda each: each.uuid):
        amounts = placeholder.amounts()
        if any(rest[name] < 0 for name in amounts):
            going.append(placeholder)
            rest.update(amounts)
    return going


def make_room(context, ledger, hold):
    """Return the changes of placeholders that filling a hold anew requires.

    A foreign consumer may have taken the hold's capacity meanwhile.

    :param hold: VRTHold that owns nothing in Placement, or something else
    :returns: (placeholders to remove, smaller ones to create for the rest of
        the host, not stored yet)
    :raises: PlacementUnavailable
    """
    placeholder_holds = VRTHold.list_placeholders(
        context, hold.group_id, hold.provider_uuid
    )
    if hold.is_placeholder or not placeholder_holds:
        return [], []
    used = ledger.used(context, hold.provider_uuid) or {}
    inventories = ledger.inventories(context, hold.provider_uuid)
    then = {**used, hold.uuid: hold.amounts()}
    going = displace(
        placeholder_holds, placement_client.free_capacity(inventories, then)
    )
    if not going:
        return [], []
    node = Node(hold.host, hold.node, hold.provider_uuid)
    gone = {hold.uuid, *(each.uuid for each in going)}
    arriving = {hold.uuid: hold.allocations}
    return going, around(
        *(context, ledger, hold.group_id, node, used, gone, arriving)
    )


def around(context, ledger, group_id, node, used, gone, arriving):
    """Return the placeholders that a host needs beside arriving consumers.

    :param used: PlacementClient.used() of the provider, read before this call
    :param gone: uuids of consumers that leave in the same request
    :param arriving: {name: allocations in the form of VRTHold.allocations}
    :returns: VRTHolds, not stored yet
    """
    rows = VRTHold.list_on(context, group_id, node.uuid)
    then = taken(used, rows, gone)
    for name, allocations in arriving.items():
        if node.uuid in allocations:
            then[name] = allocations[node.uuid]['resources']
    inventories = ledger.inventories(context, node.uuid)
    rest = placement_client.free_capacity(inventories, then)
    return cut(group_id, node, inventories, rest)


def taken(used, rows, gone):
    """Return {consumer: {class: amount}} that placeholders must leave out.

    :param used: as PlacementClient.used() returned it before the rows were
        read: what a server has got since then, its hold had
    :param rows: VRTHolds of the group on the provider
    :param gone: uuids of consumers that leave
    """
    found = without(used, gone)
    for row in rows:
        if (
            row.status in states.HOLD_COMMITTED
            and row.uuid not in gone
            and not {row.uuid, row.server_uuid} & used.keys()
        ):
            found[row.uuid] = row.amounts()
    return found


def without(used, gone):
    """Return the usages without some consumers, in the form of `used`."""
    return {uuid: used[uuid] for uuid in used.keys() - gone}

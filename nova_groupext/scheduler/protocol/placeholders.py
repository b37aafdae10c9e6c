# SPDX-License-Identifier: Apache-2.0
"""Placeholder allocations, which keep other consumers off an exclusive host.

A placeholder is a hold for no member. Its size is the free capacity of the
host, less what the group's rows claim: a member whose allocation is missing at
this moment keeps its capacity.
"""

import collections
import itertools

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.placement import client

# The attributes of Nova's ComputeNode that a placeholder needs.
Node = collections.namedtuple('Node', 'host hypervisor_hostname uuid')


def split(inventory, free):
    """Split a free amount of a resource into amounts that Placement accepts.

    :param inventory: Placement's inventory; max_unit, min_unit and step_size
        limit each allocation
    :param free: free amount; a part that no allocation can use is dropped
    :returns: list of amounts
    """
    step = inventory['step_size']
    max_steps = inventory['max_unit'] // step
    min_steps = -(-inventory['min_unit'] // step)
    steps = int(free // step)
    if steps < min_steps or max_steps < min_steps:
        return []
    parts = -(-steps // max_steps)
    if steps < parts * min_steps:
        parts -= 1
        steps = parts * max_steps
    size, larger = divmod(steps, parts)
    return [step * (size + (part < larger)) for part in range(parts)]


def fill_free_capacity(group_id, node, inventories, free):
    """Return the placeholders for the free capacity of a host, not stored yet.

    :param node: ComputeNode, or Node
    :param inventories: as PlacementClient.inventories() returns them
    :param free: {resource class: free amount}
    """
    amounts = {
        name: split(each, free[name]) for name, each in inventories.items()
    }
    parts = itertools.zip_longest(*amounts.values(), fillvalue=0)
    return [
        VRTHold.placeholder(
            group_id,
            node,
            {
                name: amount
                for name, amount in zip(amounts, part, strict=True)
                if amount
            },
        )
        for part in parts
    ]


def displace(placeholder_holds, free):
    """Return the placeholders to remove so that nothing is overcommitted.

    :param placeholder_holds: VRTHolds on one host
    :param free: {resource class: free amount, negative if overcommitted}
    """
    free, displaced = collections.Counter(free), []
    for placeholder in sorted(placeholder_holds, key=lambda each: each.uuid):
        amounts = placeholder.amounts()
        if any(free[name] < 0 for name in amounts):
            displaced.append(placeholder)
            free.update(amounts)
    return displaced


def changes_for_hold(context, placement_client, hold):
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
    usages = placement_client.usages(context, hold.provider_uuid) or {}
    inventories = placement_client.inventories(context, hold.provider_uuid)
    usages_then = {**usages, hold.uuid: hold.amounts()}
    displaced = displace(
        placeholder_holds, client.free_capacity(inventories, usages_then)
    )
    if not displaced:
        return [], []
    node = Node(hold.host, hold.node, hold.provider_uuid)
    removed = {hold.uuid, *(each.uuid for each in displaced)}
    arriving = {hold.uuid: hold.allocations}
    return displaced, needed_with(
        *(
            context,
            placement_client,
            hold.group_id,
            node,
            usages,
            removed,
            arriving,
        )
    )


def needed_with(
    context, placement_client, group_id, node, usages, removed, arriving
):
    """Return the placeholders that a host needs beside arriving consumers.

    :param usages: PlacementClient.usages() of the provider, read before
    :param removed: uuids of consumers that the same request empties
    :param arriving: {name: allocations in the form of VRTHold.allocations}
    :returns: VRTHolds, not stored yet
    """
    rows = VRTHold.list_on_provider(context, group_id, node.uuid)
    usages_then = claimed_amounts(usages, rows, removed)
    for name, allocations in arriving.items():
        if node.uuid in allocations:
            usages_then[name] = allocations[node.uuid]['resources']
    inventories = placement_client.inventories(context, node.uuid)
    free = client.free_capacity(inventories, usages_then)
    return fill_free_capacity(group_id, node, inventories, free)


def claimed_amounts(usages, rows, removed):
    """Return {consumer: {class: amount}} that placeholders must leave out.

    :param usages: as PlacementClient.usages() returned them before the rows
        were read: what a server has got since then, its hold had
    :param rows: VRTHolds of the group on the provider
    :param removed: uuids of consumers to leave out
    """
    claimed = exclude(usages, removed)
    for row in rows:
        if (
            row.status in states.HOLD_COMMITTED
            and row.uuid not in removed
            and not {row.uuid, row.server_uuid} & usages.keys()
        ):
            claimed[row.uuid] = row.amounts()
    return claimed


def exclude(usages, removed):
    """Return the usages without some consumers, in the form of `used`."""
    return {uuid: usages[uuid] for uuid in usages.keys() - removed}

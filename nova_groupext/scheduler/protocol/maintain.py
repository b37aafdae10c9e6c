# SPDX-License-Identifier: Apache-2.0
"""Release of ended holds, of every group; free exclusive capacity is filled.

Outside exclusive hosts, RELEASING holds are emptied. On an exclusive host,
placeholders replace them. The owner of the group's lease processes one host
after the other:

1. Placement's usages are compared with the rows. Placeholders that Placement
   shows and that fit stay. New ones fill the remaining capacity.
2. One transaction: placeholders that do not stay are RELEASING, new ones
   WRITING.
3. One request: RELEASING holds are emptied, WRITING ones filled, so that no
   foreign consumer can take the capacity in between.
4. The providers are read: what was filled must not overcommit them.
5. One transaction: WRITING is HELD. After it, emptied holds are RELEASED.

If 3 or 4 fails, the planner starts again at 1, MAX_ATTEMPTS times in all. Then
it empties RELEASING holds without filling: no hold waits forever.

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
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol import release_holds

LOG = logging.getLogger(__name__)

# Attempts per host before RELEASING holds are emptied without a replacement.
MAX_ATTEMPTS = 3


def maintain(context, placement_client, lease, group, logged=None):
    """Release the ended holds of a group and fill its exclusive hosts.

    A host that cannot be processed now is postponed to the next round.

    :param lease: VRTLease of the group
    :param group: VRTGroup, read since it is leased; or a draft of it
    :param logged: set of foreign consumers that were logged already; updated
    :returns: whether, on the exclusive hosts that were processed, every
        REDEEMED hold or its server owns an allocation
    """
    is_complete = True
    rows = VRTHold.list_with_capacity(context, group.id)
    by_host = collections.defaultdict(list)
    for row in rows:
        by_host[row.host].append(row)
    exclusive = exclusive_hosts.find_hosts(
        context, group, _locations(group, rows)
    )
    own = {row.uuid for row in rows}
    own.update(member.server_uuid for member in group.members)
    nodes_by_host = _exclusive_nodes(
        context, group, exclusive, sorted({*by_host, *exclusive})
    )
    with availability.skip_unavailable(f'VRT group {group.uuid}'):
        _release_shared(
            context, placement_client, lease, _shared(by_host, nodes_by_host)
        )
    for host, node in _pairs(nodes_by_host):
        with _skip_unavailable(group, host):
            consumers = _maintain_node(
                context, placement_client, lease, group, node
            )
            is_complete &= _is_complete(by_host[host], node, consumers)
            _log_foreign_consumers(
                context, group, host, consumers - own, logged
            )
    return is_complete


def acquire_and_maintain(
    context, placement_client, leases, group, logged=None
):
    """Maintain a group under its lease.

    :param leases: leases.Leases of this process
    :returns: as maintain() does; True without the lease or the group
    """
    with leases.owning(context, placement_client, group.id) as lease:
        group = lease and VRTGroup.find(context, group.uuid)
        return group is None or maintain(
            context, placement_client, lease, group, logged
        )


def _locations(group, rows):
    """Return {member path: (host, provider)} of the members with a hold."""
    if group.status not in states.GROUP_WITH_HOLDS:
        return {}
    paths = {member.id: member.path for member in group.members}
    return {
        paths[row.owner_id]: (row.host, row.provider_uuid)
        for row in rows
        if row.status in states.HOLD_COMMITTED and row.owner_id in paths
    }


def _is_complete(rows, node, consumers):
    """Check whether every REDEEMED hold on a node, or its server, is there."""
    return all(
        {row.uuid, row.server_uuid} & consumers
        for row in rows
        if row.status == states.Hold.REDEEMED
        and row.provider_uuid == node.uuid
    )


def _exclusive_nodes(context, group, exclusive, hosts):
    """Return {host: its exclusive ComputeNodes} of hosts that can be read.

    :param exclusive: result of exclusive_hosts.find_hosts()
    """
    nodes = {}
    for host in hosts:
        with _skip_unavailable(group, host):
            nodes[host] = exclusive_hosts.nodes(context, exclusive, host)
    return nodes


def _skip_unavailable(group, host):
    return availability.skip_unavailable(
        f'host {host} of VRT group {group.uuid}'
    )


def _pairs(nodes_by_host):
    """Return (host, ComputeNode) pairs."""
    return [
        (host, node) for host, nodes in nodes_by_host.items() for node in nodes
    ]


def _shared(by_host, nodes_by_host):
    """Return the VRTHolds on nodes that are not exclusive.

    :param by_host: {host: VRTHolds of the group}
    :param nodes_by_host: {host: its exclusive ComputeNodes}
    """
    exclusive = {node.uuid for _host, node in _pairs(nodes_by_host)}
    return [
        row
        for host in nodes_by_host
        for row in by_host[host]
        if row.provider_uuid not in exclusive
    ]


def _release_shared(context, placement_client, lease, shared):
    """Release holds that no placeholder may replace.

    :param shared: VRTHolds of the group
    """
    held = [row for row in shared if row.is_held_placeholder]
    if held:
        swaps.with_lease(
            context,
            lease,
            lambda: placeholder_holds.release(context, held),
        )
        shared = VRTHold.list_by_uuids(context, [row.uuid for row in shared])
    release_holds.release(context, placement_client, shared, lease.renew)


def _maintain_node(context, placement_client, lease, group, node):
    """Fill the free capacity of a node and empty RELEASING holds with it.

    :param node: ComputeNode
    :returns: set of the consumers that were there
    :raises: PlacementUnavailable, GroupBusy
    """
    for _attempt in range(MAX_ATTEMPTS):
        usages = placement_client.usages(context, node.uuid) or {}
        rows = VRTHold.list_on_provider(context, group.id, node.uuid)
        ending = [r for r in rows if r.status == states.Hold.RELEASING]
        outdated, new = _plan_placeholders(
            *(context, placement_client, group, node), usages, rows, ending
        )
        if outdated or new:
            inserted = _insert(context, lease, usages, outdated, new)
            outdated = VRTHold.in_status(
                context, outdated, states.Hold.RELEASING
            )
            ending += outdated
        if not new or not inserted:
            break
        _refill(context, placement_client, usages, ending)
        if _apply(context, placement_client, group, ending, inserted):
            break
        # The next attempt empties them together with filling new ones.
        ending += hold_plan.abandon_answered(context, inserted)
    release_holds.release(context, placement_client, ending)
    return {*usages}


def _plan_placeholders(
    context, placement_client, group, node, usages, rows, ending
):
    """Return (placeholders to remove, placeholders to create).

    :param usages: as PlacementClient.usages() returned them before the rows
        were read
    :param rows: VRTHolds of the group on the node
    :param ending: those of them that are RELEASING
    """
    held = [row for row in rows if row.is_held_placeholder]
    mismatched = [row for row in held if usages.get(row.uuid) != row.amounts()]
    removed = {row.uuid for row in (*ending, *mismatched)}
    inventories = placement_client.inventories(context, node.uuid)
    free = client.free_capacity(
        inventories, placeholders.exclude(usages, removed)
    )
    displaced = placeholders.displace(
        [row for row in held if row not in mismatched], free
    )
    removed.update(row.uuid for row in displaced)
    free = client.free_capacity(
        inventories, placeholders.exclude(usages, removed)
    )
    unclaimed = client.free_capacity(
        inventories, placeholders.claimed_amounts(usages, rows, removed)
    )
    # Fill at least what RELEASING holds own, even if a missing member may
    # come back: the host must not gain free capacity.
    for name, amount in _releasing_amounts(usages, ending).items():
        unclaimed[name] = max(unclaimed[name], min(free[name], amount))
    outdated = [*mismatched, *displaced]
    return outdated, placeholders.fill_free_capacity(
        group.id, node, inventories, unclaimed
    )


def _releasing_amounts(usages, ending):
    """Return {resource class: amount of RELEASING holds in Placement}."""
    amounts = collections.Counter()
    for row in ending:
        amounts.update(usages.get(row.uuid, {}))
    return amounts


def _insert(context, lease, usages, outdated, new):
    """End placeholders and store new ones, in one transaction.

    Placement may have kept the amounts of a placeholder that it does not show.
    Such a row is watched, and filled once more before it is emptied.

    :returns: VRTHolds in state WRITING; None when the group has no holds any
        more
    """

    def work():
        for placeholder in outdated:
            if placeholder.uuid not in usages:
                watched_holds.mark_lost(context, placeholder)
        return placeholder_holds.replace(
            context, lease.group_id, outdated, new
        )

    with faultpoints.around('placeholder.insert'):
        return swaps.with_lease(context, lease, work)


def _refill(context, placement_client, usages, ending):
    for row in ending:
        if row.lost and row.uuid not in usages:
            placement_client.refill(context, row.uuid, row)


def _apply(context, placement_client, group, ending, inserted):
    """Empty RELEASING holds, fill WRITING ones, and check the result.

    :param ending: VRTHolds in state RELEASING
    :param inserted: VRTHolds in state WRITING
    :returns: whether the inserted ones are HELD
    :raises: PlacementUnavailable when that is unknown
    """
    try:
        placement_client.hold(context, inserted, ending)
        is_overcommitted = bool(
            overcommitment.overcommitted_holds(
                context, placement_client, inserted
            )
        )
    except exception.HoldFailed as exc:
        LOG.info('Placeholders of VRT group %s: %s', group.uuid, exc)
        return False
    except exception.PlacementUnavailable:
        VRTHold.abandon(context, inserted, is_watched=True)
        raise
    if is_overcommitted:
        return False
    with faultpoints.around('placeholder.commit'):
        return placeholder_holds.commit(context, group, inserted)


def _log_foreign_consumers(context, group, host, consumers, logged):
    logged = set() if logged is None else logged
    foreign = {
        (group.uuid, host, consumer)
        for consumer in overcommitment.foreign_consumers(
            context, group.id, consumers
        )
    }
    for consumer in sorted(foreign - logged):
        LOG.warning(
            'VRT group %s has a strict exclusive policy on host %s, but '
            'foreign consumer %s is there; the consumer is kept.',
            *consumer,
        )
    logged |= foreign

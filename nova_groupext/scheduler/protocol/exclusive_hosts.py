# SPDX-License-Identifier: Apache-2.0
"""Strict exclusive policies: whole hosts, racks or zones for one group.

*Placeholders*, consumers of type VRT_EXCLUSIVE, own the free capacity of the
hosts in the group's domains. They are written together with the members'
holds, so that a domain belongs to the group as a whole or not at all.
Capacity that is freed or added later, and placeholders that are no longer
needed, are the task of maintain.py.

To other groups a placeholder is a foreign consumer. For the group itself, a
revision replaces placeholders by new members.
"""

from nova_groupext import exception
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import placeholders


def policies(group):
    """Return the strict exclusive policies of a group."""
    if not group.is_exclusive:
        return []
    found = definition.read(group).policies
    return [p for p in found if p.is_exclusive and p.strict]


def placeholders_for(context, placement_client, group, plan):
    """Return the placeholders that a plan needs, not stored yet.

    :raises: HoldFailed when a foreign consumer is on one of the hosts, or a
        cell does not answer; PlacementUnavailable
    """
    needed = []
    for node in _planned_nodes(context, group, plan):
        needed += _needed_on(
            context, placement_client, group, node, plan.placements, set()
        )
    return needed


def placeholder_changes(
    context, placement_client, group, draft, plan, arriving, ending
):
    """Return the changes of placeholders that a revision needs.

    Placeholders are replaced where members arrive, and created on hosts that
    are new to the group. maintain.maintain() removes those no longer needed.

    :param plan: VRTPlan of the draft
    :param arriving: {path: MemberPlacement} of its new holds
    :param ending: VRTHolds of the group that the draft does not need
    :returns: (placeholders to create, not stored yet, and those of the group
        that they replace)
    :raises: as placeholders_for() does
    """
    current = [
        row
        for row in VRTHold.list_by_group(
            context, group.id, *states.HOLD_COMMITTED
        )
        if row.is_placeholder
    ]
    changed = {each.provider for each in arriving.values()}
    kept = {row.provider_uuid for row in current} - changed
    needed, replaced = [], [r for r in current if r.provider_uuid in changed]
    removed = {row.uuid for row in (*ending, *replaced)}
    for node in _planned_nodes(context, draft, plan):
        if node.uuid not in kept:
            needed += _needed_on(
                context, placement_client, group, node, arriving, removed
            )
    return needed, replaced


def _planned_nodes(context, group, plan):
    locations = {
        path: (each.host, each.provider)
        for path, each in plan.placements.items()
    }
    try:
        exclusive = find_hosts(context, group, locations)
        found = [
            node
            for host in exclusive
            for node in nodes(context, exclusive, host)
        ]
    except database_errors.ANY as exc:
        raise exception.HoldFailed(reason='a cell did not answer') from exc
    return sorted(found, key=lambda node: node.uuid)


def _needed_on(context, placement_client, group, node, arriving, removed):
    """Return the placeholders that a host needs beside arriving members.

    :param arriving: {path: MemberPlacement}
    :param removed: uuids of consumers that the same request empties
    """
    usages = placement_client.usages(context, node.uuid) or {}
    _refuse_foreign(context, group, node.uuid, usages)
    return placeholders.needed_with(
        *(context, placement_client, group.id, node, usages, removed),
        {path: each.allocations for path, each in arriving.items()},
    )


def refuse_foreign_consumers(context, placement_client, group, rows):
    """Raise if a foreign consumer came to an exclusive host during the hold.

    :raises: HoldFailed, PlacementUnavailable
    """
    own = {row.uuid for row in rows}
    for provider in {row.provider_uuid for row in rows if row.is_placeholder}:
        usages = placement_client.usages(context, provider) or {}
        _refuse_foreign(context, group, provider, usages.keys() - own)


def is_confined(group, path):
    """Check whether a strict exclusive policy confines a member."""
    return any(path in policy.paths for policy in policies(group))


def find_hosts(context, group, locations):
    """Return the exclusive hosts of a group, by name.

    :param locations: {member path: (host, provider)}
    :returns: {host: uuids of its exclusive nodes, or None for all its nodes}
    """
    nodes_by_host = {}
    for policy in policies(group):
        occupied = {
            locations[path] for path in policy.members if path in locations
        }
        names = {host for host, _provider in occupied}
        if policy.scope != 'host' and names:
            names = host_domains.hosts_in_same_domains(
                context, policy.scope, names
            )
            nodes_by_host |= dict.fromkeys(names)
        for name, provider in occupied:
            # At scope host the domain is a compute node, not a compute host.
            if nodes_by_host.setdefault(name, set()) is not None:
                nodes_by_host[name].add(provider)
    return nodes_by_host


def nodes(context, exclusive, host):
    """Return the ComputeNodes of a host that are exclusive to a group.

    :param exclusive: result of find_hosts()
    :raises: one of database_errors.ANY when its cell does not answer
    """
    if host not in exclusive:
        return []
    uuids = exclusive[host]
    return [
        node
        for node in hosts.nodes(context, host)
        if uuids is None or node.uuid in uuids
    ]


def _refuse_foreign(context, group, provider, consumers):
    foreign = overcommitment.foreign_consumers(context, group.id, consumers)
    if foreign:
        raise exception.HoldFailed(
            reason=f'foreign consumers {sorted(foreign)} are on provider '
            f'{provider}'
        )

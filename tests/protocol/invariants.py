# SPDX-License-Identifier: Apache-2.0
"""Invariants of every step, and of a state at rest."""

import collections
import json

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.protocol import redeem
from tests.protocol import simulated_cloud
from tests.services import ownership

_HOLDS = (
    'SELECT uuid, status, member_id, server_uuid, allocations, '
    'if_compensated, ends_with_swap, watched_at FROM vrt_holds'
)
_RESERVED = (
    'SELECT path, reserved_for FROM vrt_members WHERE reserved_for IS NOT NULL'
)
_CREATES = 'SELECT hint, status FROM vrt_creates'
_MEMBERS = 'SELECT id, path, server_uuid FROM vrt_members'


class Violation(Exception):
    """A violated invariant."""


def check_step(cloud):
    """Check the invariants of every instant.

    :param cloud: simulated_cloud.SimulatedCloud
    :raises: Violation
    """
    consumers = cloud.consumers()
    holds = cloud.tables().execute(_HOLDS).fetchall()
    _check_rows(cloud, consumers, holds)
    _check_owners(cloud, consumers, holds)
    _check_committed_holds(cloud, holds)
    for server in cloud.granted_servers - cloud.ended_servers:
        if not cloud.has_capacity(server):
            raise Violation(f'server {server} has lost what it was granted')
    _check_exclusive_providers(cloud)
    for path, server in cloud.tables().execute(_RESERVED):
        if server in cloud.given_up_servers:
            raise Violation(f'{path} is reserved for server {server}')


def _check_exclusive_providers(cloud):
    """Check that no foreign consumer gets capacity of an exclusive provider.

    Capacity that Nova or an operator has freed is excepted while it is free.
    A hold that is filled once more has it only for a moment.
    """
    consumers = cloud.consumers()
    for provider in cloud.exclusive_providers():
        free = cloud.free_capacity(provider)
        if free > cloud.free_for_foreign.get(provider, 0):
            raise Violation(f'{free} of {provider} are free')
        if not cloud.removed_holds:
            cloud.free_for_foreign[provider] = free
        for uuid, was_there_before in cloud.foreign_consumers.items():
            if (
                not was_there_before
                and provider in consumers[uuid].allocations
            ):
                raise Violation(f'foreign consumer {uuid} is on {provider}')


def _check_rows(cloud, consumers, holds):
    """Check that each consumer except servers has a row."""
    row_uuids = {uuid for uuid, *_rest in holds}
    for uuid, consumer in consumers.items():
        if consumer.consumer_type != 'INSTANCE' and uuid not in row_uuids:
            raise Violation(f'consumer {uuid} has no row')


def _check_owners(cloud, consumers, holds):
    """Check that no member has two owners."""
    members = {
        id_: (path, server)
        for id_, path, server in cloud.tables().execute(_MEMBERS)
    }
    owners_by_path = {}
    for row in holds:
        uuid, status, member_id, server, allocations, if_compensated = row[:6]
        ends_with_swap, watched_at = row[6:]
        # A row that ends with the swap owns nothing once its successor does;
        # the reaper sweeps what a late request fills again.
        comes_late = status == states.Hold.EXCHANGING and watched_at
        if member_id not in members or ends_with_swap or comes_late:
            continue
        path, members_server = members[member_id]
        owners = owners_by_path.setdefault(path, set())
        if status in states.HOLD_COMMITTED:
            owners |= {uuid, server, members_server} & set(consumers)
        elif (
            status == states.Hold.WRITING
            and if_compensated is not None
            and uuid in consumers
            and _has_allocations(consumers[uuid], allocations)
        ):
            owners.add(uuid)
    for path, owners in owners_by_path.items():
        if len(owners) > 1:
            raise Violation(f'{path} is owned by {sorted(owners)}')


def _check_committed_holds(cloud, holds):
    """Check that each committed hold has an owner.

    Excepted are holds that were removed from outside, and those of servers
    that are never built.
    """
    for uuid, status, _member, server, *_capacity in holds:
        owners_of = {
            states.Hold.HELD: {uuid},
            states.Hold.REDEEMING: {uuid, server},
            states.Hold.REDEEMED: {server},
        }.get(status, ())
        if (
            owners_of
            and uuid not in cloud.removed_holds
            and server not in cloud.ended_servers
            and not (
                status == states.Hold.REDEEMED
                and cloud.deployment.server_outcomes.get(server)
                in redeem.ENDED
            )
            and not any(map(cloud.has_capacity, owners_of))
        ):
            raise Violation(f'hold {uuid} is {status} without an owner')


def _has_allocations(consumer, allocations):
    stored = json.loads(allocations) if allocations else {}
    return consumer.allocations == {
        provider: each['resources'] for provider, each in stored.items()
    }


def check_answers(cloud):
    """Check the answers to Nova after all actors have ended.

    :param cloud: simulated_cloud.SimulatedCloud
    :raises: Violation
    """
    for server in cloud.lost_servers - cloud.granted_servers:
        if cloud.has_capacity(server):
            raise Violation(f'server {server} was told that it has nothing')


def check_rest(cloud):
    """Check the invariants of a state that reapers leave unchanged.

    :param cloud: simulated_cloud.SimulatedCloud
    :raises: Violation
    """
    check_step(cloud)
    rows = cloud.deployment.ownership()
    _check_placement(cloud, rows)
    _check_locations(cloud, rows)
    _check_hints(cloud, rows)
    if not rows.state_pairs() <= ownership.AT_REST:
        raise Violation(f'at rest there is {rows.state_pairs()}')
    for member, holds in VRTMember.list_with_holds(cloud.deployment.context):
        states_found = {(member.status, hold.status) for hold in holds}
        if len(holds) != 1 or not states_found <= states.VALID_STATE_PAIRS:
            raise Violation(f'{member.path} has {states_found}')
    groups = objects.VRTGroup.list(cloud.deployment.context)
    for group in objects.VRTGroup.list_for_views(
        cloud.deployment.context, groups
    ):
        if rows.status_at_rest(group) != group.status:
            raise Violation(
                f'the group is {group.status} for {rows.state_pairs()}'
            )
    for provider in cloud.exclusive_providers():
        if cloud.free_capacity(provider):
            raise Violation(f'{provider} is not full')
    _check_own_hosts(cloud)
    for query in (_CREATES, _RESERVED):
        if left := cloud.tables().execute(query).fetchall():
            raise Violation(f'creates have left {left}')


def _check_own_hosts(cloud):
    """Check that placeholders cost no member its own host."""
    if (
        not cloud.is_exclusive
        or cloud.foreign_consumers
        or cloud.has_lost_records()
    ):
        return
    groups = objects.VRTGroup.list(cloud.deployment.context)
    for group in objects.VRTGroup.list_for_views(
        cloud.deployment.context, groups
    ):
        for member in group.members:
            if member.fault == swap_results.IS_LOST:
                raise Violation(f'{member.path} was refused its own host')


def _check_locations(cloud, rows):
    """Check the hosts of servers in the rows, and the strict policy."""
    for hold, _member in rows.committed_holds():
        actual = cloud.deployment.server_hosts.get(hold.server_uuid)
        if actual not in (None, hold.provider_uuid):
            raise Violation(f'server {hold.server_uuid} is on {actual}')
    group = cloud.deployment.find_group(cloud.uuid)
    if group is None or not group.has_policy('anti-affinity'):
        return
    counts = collections.Counter(
        hold.node
        for hold, member in rows.committed_holds()
        if member.group_id == group.id
    )
    if counts and max(counts.values()) > simulated_cloud.MAX_PER_HOST:
        raise Violation(f'too many members on one host: {counts}')


def _check_hints(cloud, rows):
    """Check that stored hints name the members of the servers."""
    group = cloud.deployment.find_group(cloud.uuid)
    if group is None or group.status == states.Group.RELEASING:
        # Servers of a deleted group keep their hints.
        return
    path = {
        hold.server_uuid: member.path
        for hold, member in rows.committed_holds()
    }
    for server, ref in cloud.hints.items():
        if (ref and ref.member) != path.get(server):
            raise Violation(f'the hints of {server} are {ref}')


def _check_placement(cloud, rows):
    """Compare Placement with the rows and with the granted servers."""
    # Nova repairs lost records of its servers later.
    repaired_by_nova = cloud.late_lost_consumers & (
        cloud.granted_servers - cloud.ended_servers
    )
    lost = cloud.lost_consumers() - repaired_by_nova
    if lost:
        raise Violation(f'Placement keeps the amounts of {lost}')
    consumers = cloud.consumers()
    expected = {
        uuid: {p: each['resources'] for p, each in allocations.items()}
        for uuid, allocations in rows.expected_allocations().items()
    }
    for server in cloud.granted_servers - cloud.ended_servers:
        if server in consumers:
            expected.setdefault(server, consumers[server].allocations)
        elif server in repaired_by_nova:
            expected.pop(server, None)
        else:
            raise Violation(f'server {server} has no record in Placement')
    for uuid in cloud.foreign_consumers:
        expected[uuid] = consumers[uuid].allocations
    actual = {uuid: each.allocations for uuid, each in consumers.items()}
    if actual != expected:
        raise Violation(f'Placement has {actual}, the rows say {expected}')
    for server in cloud.refused_servers - cloud.granted_servers:
        if server in consumers:
            raise Violation(f'server {server} was refused and owns something')

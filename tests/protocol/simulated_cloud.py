# SPDX-License-Identifier: Apache-2.0
"""Simulated cloud with one group, and the parts of operations on it."""

import functools

import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects.create import VRTCreate
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.solver.language import paths
from tests import groups
from tests.protocol import fake_placement
from tests.protocol import interleaving
from tests.protocol import recorded_cloud
from tests.services import deployment
from tests.services import fake_nova
from tests.services import placement

ServerOutcome = servers.ServerOutcome
NOVA, HINTS = recorded_cloud.NOVA, recorded_cloud.HINTS
uuid_of = recorded_cloud.uuid_of
migration_uuid = recorded_cloud.migration_uuid

# Number of members of the group.
MEMBERS = 3

# Maximum number of members on a host after the adoption of a server.
MAX_PER_HOST = 2
APART = {
    'type': 'anti-affinity',
    'scope': 'host',
    'max_per_domain': MAX_PER_HOST,
    'strict': True,
}
ADOPTED_PATH = 'm-3'

# Policies of a group with exclusive hosts.
EXCLUSIVE = ({'type': 'exclusive', 'scope': 'host'},)


def _server_uuid(path):
    return uuid_of(f'server of {path}')


def _created_name(path):
    return f'created as {path}'


def _created_uuid(path):
    return uuid_of(_created_name(path))


FOREIGN_SERVER = uuid_of('outsider')


class SimulatedCloud(recorded_cloud.RecordedCloud):
    """Cloud with one group on which operations run.

    If it has exclusive hosts, ``large_provider`` has capacity for two more
    members, of which one is reserved at first.

    :ivar uuid: uuid of the group: ``m-0`` and ``m-1`` are on
        ``large_provider``, ``m-2`` on ``small_provider``, ``spare`` is empty
    """

    def prepare(self, is_held, preparations, is_exclusive=False):
        """Create the group and prepare operations; runs start from there."""
        self._restore(self._empty)
        self.deployment.reset()
        self.is_exclusive = is_exclusive
        # One slot is reserved until an operation adopts or adds something.
        self.large_provider = self.deployment.make_provider(
            slots=4 if is_exclusive else 3
        )
        if is_exclusive:
            self._reserve(deployment.MEMBER_VCPUS)
        else:
            self.deployment.resize_provider(self.large_provider, 2)
        self.small_provider = self.deployment.make_provider(slots=1)
        self.spare = self.deployment.make_provider(slots=1)
        self.uuid = self.deployment.describe(
            [self.large_provider, self.large_provider, self.small_provider],
            EXCLUSIVE if is_exclusive else (),
        )
        if is_held:
            self.deployment.plan(self.uuid)
        for each in preparations:
            each(self)
        self.free_for_foreign.update(
            (each, self.free_capacity(each))
            for each in self.exclusive_providers()
        )
        self._start = self._saved()

    def redeem(self, path, server):
        """Create a server, and record the answer to Nova."""
        self.redeem_all(path, [server])

    def redeem_all(self, path, names):
        created = [uuid_of(name) for name in names]
        self.record_access(writes={NOVA})
        try:
            self.deployment.redeem_all(self.uuid, path, created)
        except BaseException as exc:
            # By now Nova has recorded that the servers are not built.
            self.record_access(writes={NOVA})
            if self.granted_servers.issuperset(created):
                # Another delivery of the request was faster; Nova has its
                # answer.
                self._build(created)
            elif isinstance(exc, deployment.REFUSALS):
                self.refused_servers.update(created)
                if redeem.IS_LOST in str(exc) and len(created) == 1:
                    self.lost_servers.update(created)
            raise
        self.granted_servers.update(created)
        self._build(created)

    def _build(self, created):
        """Build servers where they have their allocations."""
        self.record_access(reads={interleaving.PLACEMENT}, writes={NOVA})
        for server in created:
            [provider] = self._placement.consumers[server].allocations
            self.deployment.server_outcomes[server] = ServerOutcome.LIVE
            self.deployment.server_hosts[server] = provider

    def create_draft(self):
        """Revise the group: the first and the last member exchange hosts.

        A group with exclusive hosts also gets another member.
        """
        if self._has_draft():
            return
        providers = self.deployment.held_providers(self.uuid)
        providers |= {'m-0': self.small_provider, 'm-2': self.large_provider}
        if self.is_exclusive:
            providers['m-3'] = self.large_provider
        self.deployment.revise(
            self.uuid, providers, EXCLUSIVE if self.is_exclusive else ()
        )

    def create_draft_dropping(self):
        """Revise the group: the last member gets the capacity of another."""
        if self._has_draft():
            return
        providers = {
            **self.deployment.held_providers(self.uuid),
            'm-2': self.large_provider,
        }
        del providers['m-1']
        self.deployment.revise(self.uuid, providers)

    def create_draft_adopting(self, **moves):
        """Revise the group: it adopts a running server on a full host.

        The server may move to ``large_provider`` afterwards.

        :param moves: {path: new provider of a member}
        """
        if self._has_draft():
            return
        source = self.deployment.make_provider(slots=1)
        self.deployment.fill(source, consumer=FOREIGN_SERVER)
        self.deployment.server_outcomes[FOREIGN_SERVER] = ServerOutcome.LIVE
        self.deployment.server_hosts[FOREIGN_SERVER] = source
        self.granted_servers.add(FOREIGN_SERVER)
        self.hints[FOREIGN_SERVER] = None
        self.deployment.resize_provider(self.large_provider, 3)
        providers = {
            **self.deployment.held_providers(self.uuid),
            **moves,
            ADOPTED_PATH: source,
        }
        self.deployment.revise(
            self.uuid,
            providers,
            [APART],
            adopts=[(ADOPTED_PATH, FOREIGN_SERVER)],
        )

    def _has_draft(self):
        group = self.deployment.group(self.uuid)
        return bool(
            objects.VRTGroup.drafts_by_group(
                self.deployment.context, [group.id]
            )
        )

    def move_foreign_server(self):
        """Move a server, perhaps a member, to ``large_provider``.

        Nova reads its hints at the beginning of the move.
        """
        db.compare_and_set(
            self.deployment.context,
            models.Group,
            sa.false(),
            hold_when_planned=1,
        )
        ref = self.hints.get(FOREIGN_SERVER)
        self.record_access(reads={HINTS})
        self._move(
            FOREIGN_SERVER,
            self.large_provider,
            lambda: self.deployment.move_server_by_hints(
                *(ref, FOREIGN_SERVER, self.large_provider),
                lambda: self._claim(FOREIGN_SERVER, self.large_provider),
            ),
        )

    def start_growing(self, path):
        """Store a create for a new member, which fits on ``spare``.

        It gets the number and the hold of a member without server, if any.
        """
        self.deployment.allow_members(
            self.uuid, {path: self.spare}, max_count=MEMBERS + 1
        )
        self._start_create(path)

    def start_replacing(self, path):
        """Store a create for the successor, on ``spare``, of a server."""
        self.run_server(path)
        successor = paths.successor(path, _created_uuid(path))
        self.deployment.allow_members(
            self.uuid, {successor: self.spare}, max_surge=1
        )
        self._start_create(path)

    def _start_create(self, path):
        server = _created_uuid(path)
        if server not in self.deployment.server_outcomes:
            self.deployment.start_create(self.uuid, path, server)

    def give_up_creates(self):
        """Give up the creates that are not placed, as their schedulers do."""
        group = self.deployment.find_group(self.uuid)
        if group is None:
            return
        context = self.deployment.context
        for create in VRTCreate.list_unended(context, group.id):
            if create.give_up(context):
                self.record_access(writes={NOVA})
                self.given_up_servers.update(create.server_uuids)
                self.deployment.server_outcomes.update(
                    dict.fromkeys(
                        create.server_uuids, ServerOutcome.UNSCHEDULED
                    )
                )

    def redeem_created(self, path):
        """Create a server as the member that waits for it."""
        self.redeem_all(path, [_created_name(path)])

    def end_server(self, path, outcome):
        """Redeem a member whose server then ends, or is never built."""
        server = _server_uuid(path)
        if server in self.deployment.server_outcomes:
            return
        self.redeem(path, f'server of {path}')
        self.deployment.server_outcomes[server] = outcome
        if outcome == ServerOutcome.DELETED:
            self.deployment.delete_allocations(server)
        self.granted_servers.discard(server)
        self.ended_servers.add(server)

    def run_server(self, path):
        """Redeem a member, unless it has a server."""
        if _server_uuid(path) not in self.deployment.server_outcomes:
            self.redeem(path, f'server of {path}')

    def shelve_server(self, path):
        """Shelve a server, unless it is moving."""
        self.record_access(writes={NOVA, interleaving.PLACEMENT})
        server = _server_uuid(path)
        if (
            server
            in self.deployment.moving_servers | self.deployment.shelved_servers
        ):
            return
        self._placement.consumers.pop(server, None)
        self.deployment.shelved_servers.add(server)
        del self.deployment.server_hosts[server]
        self.granted_servers.discard(server)
        self.ended_servers.add(server)

    def move_server(self, path):
        """Move or unshelve a server to ``spare``."""
        server = _server_uuid(path)
        claim = functools.partial(self._claim, server, self.spare)
        claim_move = functools.partial(
            self.deployment.move_server, self.uuid, path, self.spare, claim
        )
        self._move(server, self.spare, claim_move)

    def reserve_resize(self, path):
        """Create a reservation for the resize of a server."""
        self.run_server(path)
        context, member = (
            self.deployment.context,
            self.deployment.member(self.uuid, path),
        )
        member.update_row(context, server_request=deployment.SMALL)
        placement = groups.placement(self.spare, deployment.MEMBER_VCPUS)
        reservation = objects.VRTHold.reservation(member, placement)
        reservation.create(context)
        self.deployment.placement_client().hold(context, [reservation])
        placeholder_holds.commit(
            context, self.deployment.group(self.uuid), [reservation]
        )

    def resize_server(self, path):
        """Resize a server to its reservation, if there is one."""
        server = _server_uuid(path)
        reservation = objects.VRTHold.find_reservation(
            self.deployment.context, server
        )
        if reservation is None:
            return
        claim = functools.partial(
            resize.claim,
            *(
                self.deployment.context,
                self.deployment.placement_client(),
                reservation,
                server,
            ),
            *fake_nova.SERVER_OWNER,
        )
        provider = reservation.provider_uuid
        claim_move = functools.partial(
            self.deployment.move_server, self.uuid, path, provider, claim
        )
        if self._move(server, provider, claim_move):
            flavor = deployment.FLAVOR['flavor_id']
            self.deployment.server_flavors[server] = flavor

    def _move(self, server, provider, claim_move):
        """Move a server; its migration has its allocations meanwhile.

        :param claim_move: calls the scheduler; called without arguments
        :returns: whether the server has moved
        """
        self.record_access(writes={NOVA, interleaving.PLACEMENT})
        if server in self.deployment.moving_servers:
            return False
        consumers = self._placement.consumers
        if server in consumers:
            consumers[migration_uuid(server)] = consumers.pop(server)
        self.deployment.moving_servers.add(server)
        is_moved = False
        try:
            is_moved = claim_move()
        finally:
            self._end_move(server, provider if is_moved else None)
        return is_moved

    def _claim(self, server, provider):
        self.record_access(
            reads={interleaving.FREE_CAPACITY}, writes={interleaving.PLACEMENT}
        )
        response = placement.claim(
            fake_placement.Session(lambda: self._placement),
            *(provider, server),
            VCPU=deployment.MEMBER_VCPUS,
        )
        return response.status_code == 204

    def _end_move(self, server, provider):
        self.record_access(writes={NOVA, interleaving.PLACEMENT})
        consumers = self._placement.consumers
        old_allocations = consumers.pop(migration_uuid(server), None)
        self.deployment.moving_servers.discard(server)
        if provider is not None:
            self.deployment.server_hosts[server] = provider
            self.deployment.shelved_servers.discard(server)
            self.ended_servers.discard(server)
            self.granted_servers.add(server)
            return
        consumers.pop(server, None)
        if old_allocations is not None:
            consumers[server] = old_allocations

    def remove_hold(self, path):
        """Remove a member's hold from Placement."""
        removed = self.deployment.hold(self.uuid, path).uuid
        self.deployment.delete_allocations(removed)
        self.removed_holds.add(removed)

    def delete_server(self, path):
        """Delete a server in any state."""
        self.record_access(writes={NOVA})
        server = _server_uuid(path)
        self.ended_servers.add(server)
        self.granted_servers.discard(server)
        self._record_freed(
            self.large_provider,
            lambda: self.deployment.delete_allocations(server),
        )
        self.deployment.server_outcomes[server] = ServerOutcome.DELETED

    def add_capacity(self):
        """Enlarge ``large_provider``."""
        self._record_freed(self.large_provider, lambda: self._reserve(0))

    def _reserve(self, amount):
        self._placement.inventories[self.large_provider]['VCPU'][
            'reserved'
        ] = amount
        self._placement.generations[self.large_provider] += 1

    def _record_freed(self, provider, work):
        self.record_access(
            reads={interleaving.FREE_CAPACITY}, writes={interleaving.PLACEMENT}
        )
        before = self.free_capacity(provider)
        work()
        freed = self.free_capacity(provider) - before
        self.free_for_foreign[provider] = (
            self.free_for_foreign.get(provider, 0) + freed
        )

    def claim_foreign(self):
        """Claim a member's amount of ``large_provider`` for a new consumer."""
        consumer = uuid_of('stranger')
        if self._claim(consumer, self.large_provider):
            self.foreign_consumers[consumer] = (
                self.large_provider in self.exclusive_providers()
            )

    def plan_draft(self):
        group = self.deployment.group(self.uuid)
        for draft in objects.VRTGroup.drafts_by_group(
            self.deployment.context, [group.id]
        ).values():
            self.deployment.plan(draft.uuid)

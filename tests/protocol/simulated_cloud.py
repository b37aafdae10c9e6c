# SPDX-License-Identifier: Apache-2.0
"""Simulated cloud that every run starts from the same state.

It has tables in memory, a fake Placement, a clock that only sleeps and tests
advance, and counted instead of random uuids.
"""

import collections
import contextlib
import functools
import random
import sqlite3
import types
import uuid

import fixtures
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.solver.language import paths
from tests import fixtures as test_fixtures
from tests import groups
from tests.protocol import fake_placement
from tests.protocol import interleaving
from tests.services import deployment
from tests.services import fake_nova
from tests.services import placement

ServerOutcome = servers.ServerOutcome

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

# Seconds for which planners may place the members of creates.
PLACING_SECONDS = 20
_WAITING_LIMIT = 'redeem_replacement_time_limit'

_EXCLUSIVE_PROVIDERS = (
    'SELECT provider_uuid FROM vrt_holds JOIN vrt_groups '
    'ON vrt_groups.id = group_id WHERE member_id IS NOT NULL '
    'AND vrt_groups.status IN (?, ?) AND vrt_holds.status IN (?, ?, ?, ?)'
)
_RELEASED = 'SELECT uuid FROM vrt_holds WHERE status = ?'

# Modules whose sleep lets other actors run instead.
_SLEEPING_MODULES = (
    'nova_groupext.scheduler.decide.strategy',
    'nova_groupext.scheduler.placement.http',
    'nova_groupext.scheduler.protocol.redeem',
    'nova_groupext.scheduler.redeem.replacement_request',
    'nova_groupext.scheduler.redeem.redeem_path',
    'nova_groupext.scheduler.redeem.reserve',
)


# Policies of a group with exclusive hosts.
EXCLUSIVE = ({'type': 'exclusive', 'scope': 'host'},)


def uuid_of(name):
    """Return a uuid that depends only on a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _migration_uuid(server):
    return uuid_of(f'migration of {server}')


def _server_uuid(path):
    return uuid_of(f'server of {path}')


def _created_name(path):
    return f'created as {path}'


def _created_uuid(path):
    return uuid_of(_created_name(path))


FOREIGN_SERVER = uuid_of('outsider')

# Nova's state of servers, and their stored hints, in the footprint of a step.
NOVA, HINTS = 'Nova', 'hints'


_TABLES = tuple(models.Base.metadata.tables)


class _RecordedSession(fake_placement.Session):
    """Client of FakePlacement; the responses are recorded as read.

    :param record_read: function of a response
    """

    def __init__(self, placement, on_step, record_read):
        super().__init__(placement, on_step)
        self._record_read = record_read

    def get(self, url, **kwargs):
        return self._recorded(super().get(url, **kwargs))

    def post(self, url, json=None, **kwargs):
        return self._recorded(super().post(url, json, **kwargs))

    def _recorded(self, response):
        self._record_read((response.status_code, response.text))
        return response


class _Deployment(deployment.Deployment):
    """Deployment that reports each query to Nova.

    :param on_query: function called without arguments
    """

    def __init__(self, connect, on_query):
        super().__init__(connect)
        self._on_query = on_query

    def _servers(self, context, uuids):
        self._on_query()
        return super()._servers(context, uuids)


class SimulatedCloud(fixtures.Fixture):
    """Cloud with one group on which operations run.

    :ivar deployment: deployment.Deployment
    :ivar uuid: uuid of the group: ``m-0`` and ``m-1`` are on
        ``large_provider``, ``m-2`` on ``small_provider``, ``spare`` is empty
    :ivar is_exclusive: whether the group has exclusive hosts; then
        ``large_provider`` has capacity for two more members, of which one is
        reserved at first
    :ivar free_for_foreign: {exclusive provider: capacity that foreign
        consumers may have}, as Nova or an operator has freed it
    :ivar foreign_consumers: {consumer: whether its provider was exclusive}
    :ivar granted_servers: servers that Nova was told to have capacity
    :ivar refused_servers: servers that Nova was told to be refused
    :ivar lost_servers: servers that Nova was told to have lost their hold
    :ivar ended_servers: servers that have ended
    :ivar given_up_servers: servers for whose places nobody waits any more
    :ivar removed_holds: holds that were removed from Placement from outside
    :ivar hints: {server: member_ref.MemberRef} that Nova has stored
    """

    def _setUp(self):
        self.useFixture(test_fixtures.Database('sqlite://'))
        self._placement = fake_placement.FakePlacement()
        self._interleaver = None
        # Number of uuids, seconds and random choices of each actor.
        self._counts = collections.Counter()
        # Hash of all tables; None if they may have changed since.
        self._tables_hash = None
        self.granted_servers, self.refused_servers = set(), set()
        self.ended_servers, self.lost_servers = set(), set()
        self.given_up_servers = set()
        self.removed_holds = set()
        self.hints = {}
        # Servers whose row in Nova's database is locked.
        self._locked_servers = set()
        self.is_exclusive = False
        self.free_for_foreign, self.foreign_consumers = {}, {}
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.uuidutils.generate_uuid', self._count_uuid
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.objects.listing.new_id', self._count_uuid
            )
        )
        clock = types.SimpleNamespace(
            sleep=self._sleep, monotonic=lambda: self._count('second')[1]
        )
        for name in _SLEEPING_MODULES:
            where = f'{name}.time'
            self.useFixture(fixtures.MonkeyPatch(where, clock))
        self.useFixture(fixtures.MonkeyPatch('oslo_db.api.time', clock))
        # oslo.db sleeps for no time when it opens a connection.
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_db.sqlalchemy.engines.time',
                types.SimpleNamespace(sleep=lambda _seconds: None),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.redeem.reserve.random',
                types.SimpleNamespace(sample=self._sample),
            )
        )
        # Reading all migrations takes longer than the rest of a run.
        head = migration.head()
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.db.migration.head', lambda: head
            )
        )
        stack = contextlib.ExitStack()
        stack.enter_context(
            interleaving.intercept_transactions(lambda: self._interleaver)
        )
        self.addCleanup(stack.close)
        listener = (sa.Engine, 'after_cursor_execute', self._record_statement)
        sa.event.listen(*listener)
        self.addCleanup(sa.event.remove, *listener)
        on_query = functools.partial(self.record_access, reads={NOVA})
        self.deployment = self.useFixture(_Deployment(self._connect, on_query))
        self._limit_waiting()
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.nova.stored_hints._set_hints',
                self._set_hints,
            )
        )
        self._connection().row_factory = self._record_row
        self._empty = self._saved()

    def _limit_waiting(self):
        """Let no scheduler wait for planners; these may place members."""
        CONF.set_override(_WAITING_LIMIT, PLACING_SECONDS, 'vrt')
        no_wait = types.SimpleNamespace(
            vrt=types.SimpleNamespace(**{_WAITING_LIMIT: 0})
        )
        for name in ('create_request', 'replacement_request'):
            where = f'nova_groupext.scheduler.redeem.{name}.CONF'
            self.useFixture(fixtures.MonkeyPatch(where, no_wait))

    def _connect(self):
        return _RecordedSession(
            lambda: self._placement, self._request, self._record_read
        )

    def _request(self, *args):
        if self._interleaver is not None:
            self._interleaver.request(*args)

    def _record_statement(self, _connection, cursor, statement, *_others):
        if not statement.startswith('SELECT'):
            self._tables_hash = None
        # A statement that returns rows has no row count yet.
        is_changed = cursor.rowcount > 0 or 'RETURNING' in statement
        if self._interleaver is not None:
            self._interleaver.statement(statement, is_changed)

    def _record_row(self, _cursor, row):
        self._record_read(row)
        return row

    def _record_read(self, value):
        if self._interleaver is not None:
            self._interleaver.record_read(value)

    def record_access(self, reads=(), writes=()):
        """Add accesses to the footprint of the current step."""
        if self._interleaver is not None:
            self._record_read(self._hash_outside_tables())
            self._interleaver.record_access(reads, writes)

    def _sleep(self, _seconds):
        if self._interleaver is not None:
            self._interleaver.sleep()

    def _set_hints(self, _context, server, new_hints):
        """Change hints with the row locked, like stored_hints._set_hints()."""
        self.record_access(writes={HINTS})
        while server in self._locked_servers:
            self._sleep(0)
            self.record_access(reads={HINTS})
        self._locked_servers.add(server)
        try:
            self.hints[server] = new_hints()
        finally:
            self._locked_servers.discard(server)
        return self.hints[server]

    def _count_uuid(self, dashed=True):
        """Return a uuid that does not depend on other actors."""
        uuid = uuid_of('actor {} {}'.format(*self._count('uuid')))
        return uuid if dashed else uuid.replace('-', '')

    def _sample(self, population, k):
        return random.Random(str(self._count('sample'))).sample(population, k)

    def _count(self, what):
        """Return the running actor, and how often it called this."""
        actor = self._interleaver and self._interleaver.running
        self._counts[actor, what] += 1
        self._record_read(self._counts[actor, what])
        return actor, self._counts[actor, what]

    # -- state of a run ----------------------------------------------------

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

    def restart(self):
        """Restore the state after prepare(); return the Interleaver."""
        self._restore(self._start)
        return self._interleaver

    @contextlib.contextmanager
    def unchanged(self):
        """Restore the state at the end of a ``with`` block."""
        saved, late = self._saved(), self._interleaver.late_requests
        try:
            yield
        finally:
            self._restore(saved)
            self._interleaver.late_requests = late

    def _saved(self):
        tables = sqlite3.connect(':memory:', check_same_thread=False)
        self._connection().backup(tables)
        state = [each.copy() for each in self._state_outside_tables()]
        return tables, self._placement.copy(), timeutils.utcnow(), state

    def _state_outside_tables(self):
        """Return the state that is neither in the tables nor in Placement."""
        return (
            *(self._counts, *self.deployment.nova_state()),
            *(self.granted_servers, self.refused_servers, self.lost_servers),
            *(self.ended_servers, self.given_up_servers),
            *(self.removed_holds, self.hints),
            *(self.free_for_foreign, self.foreign_consumers),
        )

    def _restore(self, saved):
        tables, placement_copy, now, state = saved
        tables.backup(self._connection())
        self._tables_hash = None
        self._placement = placement_copy.copy()
        timeutils.set_time_override(now)
        for container, saved_value in zip(
            self._state_outside_tables(), state, strict=True
        ):
            container.clear()
            add = (
                container.extend
                if isinstance(container, list)
                else container.update
            )
            add(saved_value)
        self._interleaver = interleaving.Interleaver(self._placement)

    @staticmethod
    def _connection():
        return engine.get_engine().raw_connection().driver_connection

    def tables(self):
        """Return a connection whose queries are no step of an actor."""
        return self._connection()

    def state(self):
        """Return a hash of all that actors can read."""
        if self._tables_hash is None:
            connection = self._connection()
            self._tables_hash = hash(
                tuple(
                    tuple(connection.execute(f'SELECT * FROM {table}'))
                    for table in _TABLES
                )
            )
        now = timeutils.utcnow()
        return hash((self._tables_hash, now, self._hash_outside_tables()))

    def _hash_outside_tables(self):
        state = [
            sorted(each.items() if isinstance(each, dict) else each)
            for each in (*self._state_outside_tables(), self._locked_servers)
            if each is not self._counts
        ]
        late_requests = self._interleaver.late_requests
        return hash(repr((state, self._placement.state(), late_requests)))

    def consumers(self):
        """Return {uuid: fake_placement.Consumer} that Placement shows."""
        return self._placement.shown()

    def lost_consumers(self):
        """Return the consumers with usage but without a record."""
        return (
            self._placement.consumers.keys() - self._placement.shown().keys()
        )

    def apply_late_requests(self):
        self._interleaver.apply_late_requests()

    @property
    def late_lost_consumers(self):
        """Consumers whose records late requests may have lost."""
        return self._interleaver.late_lost_consumers

    def has_capacity(self, uuid):
        """Check whether a consumer, or its migration, has usage.

        While a server moves, its migration has its allocations.
        """
        return bool(
            {uuid, _migration_uuid(uuid)} & self._placement.consumers.keys()
        )

    def exclusive_providers(self):
        """Return the providers that are exclusive to the group."""
        if not self.is_exclusive:
            return set()
        rows = self.tables().execute(
            _EXCLUSIVE_PROVIDERS,
            (*states.GROUP_WITH_HOLDS, *states.HOLD_COMMITTED),
        )
        return {provider for (provider,) in rows}

    def free_capacity(self, provider):
        """Return the capacity of a provider for foreign consumers.

        The usage of RELEASED rows, which late requests filled, counts as
        free: the reaper empties it.
        """
        rows = self.tables().execute(_RELEASED, (states.Hold.RELEASED,))
        late = {uuid for (uuid,) in rows}
        [inventory] = self._placement.inventories[provider].values()
        return (
            inventory['total']
            - inventory['reserved']
            - sum(
                amount
                for uuid, each in self._placement.consumers.items()
                if uuid not in late
                for amount in each.allocations.get(provider, {}).values()
            )
        )

    def has_lost_records(self):
        """Check whether Placement has lost the record of any consumer."""
        return self._placement.has_lost_records

    # -- parts of operations -----------------------------------------------

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
        """Let the schedulers of creates give up, unless these are placed."""
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
            consumers[_migration_uuid(server)] = consumers.pop(server)
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
        old_allocations = consumers.pop(_migration_uuid(server), None)
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

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

from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler.nova import servers
from tests import fixtures as test_fixtures
from tests.protocol import fake_placement
from tests.protocol import interleaving
from tests.services import deployment

ServerOutcome = servers.ServerOutcome

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


def uuid_of(name):
    """Return a uuid that depends only on a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def migration_uuid(server):
    return uuid_of(f'migration of {server}')


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


class RecordedCloud(fixtures.Fixture):
    """Cloud that records all that operations read and write.

    :ivar deployment: deployment.Deployment
    :ivar is_exclusive: whether the group has exclusive hosts
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
        # A database in memory ends with its connection.
        CONF.set_override('connection_recycle_time', -1, 'vrt_database')
        self.addCleanup(
            CONF.clear_override, 'connection_recycle_time', 'vrt_database'
        )
        # oslo.db refuses the connections of a process that has forked, as two
        # would talk to one server; these tables are copied.
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_db.sqlalchemy.engines.os',
                types.SimpleNamespace(getpid=lambda: None),
            )
        )
        self.useFixture(test_fixtures.Database('sqlite://'))
        self._placement = fake_placement.FakePlacement()
        self._interleaver = None
        # Number of uuids, seconds and random choices of each actor.
        self._counts = collections.Counter()
        # {table: hash of its rows}, except those that may have changed since.
        self._table_hashes = {}
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
                types.SimpleNamespace(shuffle=self._shuffle),
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
        """Configure schedulers that never wait, and planners that place."""
        CONF.set_override(_WAITING_LIMIT, PLACING_SECONDS, 'vrt')
        self.addCleanup(CONF.clear_override, _WAITING_LIMIT, 'vrt')
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
            # Rows of other tables go with deleted ones.
            is_cascade = statement.startswith('DELETE')
            for table in _TABLES:
                if is_cascade or table in statement:
                    self._table_hashes.pop(table, None)
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

    def _shuffle(self, items):
        random.Random(str(self._count('shuffle'))).shuffle(items)

    def _count(self, what):
        """Return the running actor, and how often it called this."""
        actor = self._interleaver and self._interleaver.running
        self._counts[actor, what] += 1
        self._record_read(self._counts[actor, what])
        return actor, self._counts[actor, what]

    # -- state of a run ----------------------------------------------------

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
        self._table_hashes.clear()
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
        connection, hashes = self._connection(), self._table_hashes
        for table in _TABLES:
            if table not in hashes:
                rows = connection.execute(f'SELECT * FROM {table}')
                hashes[table] = hash(tuple(rows))
        tables = tuple(hashes[table] for table in _TABLES)
        return hash((tables, timeutils.utcnow(), self._hash_outside_tables()))

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
            {uuid, migration_uuid(uuid)} & self._placement.consumers.keys()
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

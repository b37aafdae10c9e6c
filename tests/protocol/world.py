# SPDX-License-Identifier: Apache-2.0
"""A small cloud that begins anew for each run, always alike.

Tables in memory, Placement of books.py, time that stands still, and names
that are counted instead of drawn.
"""

import contextlib
import hashlib
import itertools
import random
import sqlite3
import threading
import types
import uuid

import fixtures
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.scheduler.look import servers
from nova_groupext.scheduler.protocol import redeem as protocol
from tests import fixtures as ours
from tests.protocol import books
from tests.protocol import doors
from tests.services import life

Fate = servers.Fate

# Whoever sleeps lets others go on instead, and its time passes.
_SLEEPERS = (
    'scheduler.decide.planning',
    'scheduler.ledger',
    'scheduler.protocol.redeem',
    'scheduler.redeem.elsewhere',
    'scheduler.redeem.redeem',
    'scheduler.redeem.reserving',
)


def named(name):
    """Return the uuid of something that a test has named."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


class World(fixtures.Fixture):
    """Where operations meet.

    :ivar life: life.Life
    :ivar uuid: of the group: ``m-0`` and ``m-1`` are on the provider
        ``wide``, ``m-2`` is on ``narrow``, ``spare`` is empty
    :ivar granted: servers that were told to have a place
    :ivar refused: servers that were told to have none, at the end
    :ivar lost: servers that were told to have none now
    :ivar gone: servers that have ended
    :ivar removed: holds that somebody has removed from Placement
    """

    def _setUp(self):
        self.useFixture(ours.Database('sqlite://'))
        self._books = books.Books()
        self._doors = None
        self._counts = {}
        self._seconds = itertools.count()
        self.granted, self.refused, self.gone = set(), set(), set()
        self.lost, self.removed = set(), set()
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.uuidutils.generate_uuid', self._count_uuid
            )
        )
        clock = types.SimpleNamespace(
            sleep=self._sleep, monotonic=lambda: next(self._seconds)
        )
        for name in _SLEEPERS:
            where = f'nova_groupext.{name}.time'
            self.useFixture(fixtures.MonkeyPatch(where, clock))
        self.useFixture(fixtures.MonkeyPatch('oslo_db.api.time', clock))
        # It only lets go of the processor, with every connection.
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_db.sqlalchemy.engines.time',
                types.SimpleNamespace(sleep=lambda _seconds: None),
            )
        )
        # To read all migrations takes longer than the rest of a run.
        head = migration.head()
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.db.migration.head', lambda: head
            )
        )
        opened = contextlib.ExitStack()
        opened.enter_context(doors.open_doors(lambda: self._doors))
        self.addCleanup(opened.close)
        listener = (sa.Engine, 'before_cursor_execute', self._note)
        sa.event.listen(*listener)
        self.addCleanup(sa.event.remove, *listener)
        self.life = self.useFixture(life.Life(self._connect))
        self._empty = self._saved()

    def _connect(self):
        return books.Session(lambda: self._books, self._request)

    def _request(self, *what):
        if self._doors is not None:
            self._doors.request(*what)

    def _note(self, _connection, _cursor, statement, *_others):
        if self._doors is not None:
            self._doors.statement(statement)

    def _sleep(self, _seconds):
        if self._doors is not None:
            self._doors.sleep()

    def _count_uuid(self, dashed=True):
        """Return a name that does not depend on what others do."""
        who = threading.current_thread().name
        number = self._counts[who] = self._counts.get(who, 0) + 1
        counted = named(f'{who} {number}')
        return counted if dashed else counted.replace('-', '')

    # -- from the beginning ------------------------------------------------

    def prepare(self, is_held, preparations):
        """Make the group, and what operations need; runs begin there."""
        self._restore(self._empty)
        self.life.forget()
        self.wide = self.life.make_provider(seats=2)
        self.narrow = self.life.make_provider(seats=1)
        self.spare = self.life.make_provider(seats=1)
        self.uuid = self.life.describe([self.wide, self.wide, self.narrow])
        if is_held:
            self.life.plan(self.uuid)
        for each in preparations:
            each(self)
        self._start = self._saved()

    def begin(self):
        """Begin a run where prepare() has ended."""
        self._restore(self._start)
        random.seed(0)
        return self._doors

    def _saved(self):
        tables = sqlite3.connect(':memory:', check_same_thread=False)
        self._connection().backup(tables)
        return (
            *(tables, self._books.copy(), timeutils.utcnow()),
            *(dict(self._counts), dict(self.life.fates)),
            *(dict(self.life.whereabouts), list(self.life.providers)),
            *({*self.granted}, {*self.refused}, {*self.gone}),
            {*self.removed},
        )

    def _restore(self, saved):
        tables, the_books, now, counts, fates, whereabouts, *rest = saved
        tables.backup(self._connection())
        self._books = the_books.copy()
        timeutils.set_time_override(now)
        self._counts = dict(counts)
        self.life.fates.clear()
        self.life.fates.update(fates)
        self.life.whereabouts.clear()
        self.life.whereabouts.update(whereabouts)
        providers, *servers_of = rest
        self.life.providers[:] = providers
        self.granted, self.refused, self.gone, self.removed = map(
            set, servers_of
        )
        self.lost = set()
        self._doors = doors.Doors(self._books)

    @staticmethod
    def _connection():
        return engine.get_engine().raw_connection().driver_connection

    def tables(self):
        """Return the connection to the tables, to ask past all doors."""
        return self._connection()

    def digest(self):
        """Return what is the same for what looks the same."""
        dump = '\n'.join(self._connection().iterdump())
        told = (
            dump,
            sorted(self._books.consumers.items()),
            sorted(self.life.fates.items()),
            sorted(self.granted),
            sorted(self.refused),
            sorted(self.lost),
            sorted(self.gone),
            self._doors.late,
        )
        return hashlib.sha1(repr(told).encode()).digest()

    def consumers(self):
        """Return {uuid: books.Consumer} of those that Placement shows."""
        return self._books.shown()

    def owns(self, uuid):
        """Tell whether nobody else can have what a consumer has."""
        return uuid in self._books.consumers

    # -- what operations are made of ---------------------------------------

    def redeem(self, path, server):
        """Create a server, and note what its user is told."""
        self.redeem_all(path, [server])

    def redeem_all(self, path, names):
        created = [named(name) for name in names]
        try:
            self.life.redeem_all(self.uuid, path, created)
        except BaseException as exc:
            if self.granted.issuperset(created):
                # Another delivery of the request was faster: Nova has that
                # one's answer.
                self._build(created)
            elif isinstance(exc, life.REFUSALS):
                self.refused.update(created)
                if protocol.IS_LOST in str(exc) and len(created) == 1:
                    self.lost.update(created)
            raise
        self.granted.update(created)
        self._build(created)

    def _build(self, created):
        """Let Nova have servers where they were told to be."""
        for server in created:
            [provider] = self._books.consumers[server].allocations
            self.life.fates[server] = Fate.LIVE
            self.life.whereabouts[server] = provider

    def draft(self):
        """Let the first member change places with the last one."""
        seats = self.life.seats(self.uuid)
        self._draft = self.life.revise(
            self.uuid, {**seats, 'm-0': self.narrow, 'm-2': self.wide}
        )

    def end_server(self, path, fate):
        """Let a member's server have ended, or never be built."""
        self.redeem(path, f'server of {path}')
        server = named(f'server of {path}')
        self.life.fates[server] = fate
        if fate == Fate.DELETED:
            self.life.remove(server)
        self.granted.discard(server)
        self.gone.add(server)

    def lose_hold(self, path):
        """Let somebody remove what is held for a member."""
        removed = self.life.hold(self.uuid, path).uuid
        self.life.remove(removed)
        self.removed.add(removed)

    def plan_draft(self):
        group = self.life.group(self.uuid)
        for draft in objects.VRTGroup.drafts_of(
            self.life.context, [group.id]
        ).values():
            self.life.plan(draft.uuid)

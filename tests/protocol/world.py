# SPDX-License-Identifier: Apache-2.0
"""A small cloud that begins anew for each run, always alike.

Tables in memory, Placement of books.py, time that stands still, and names
that are counted instead of drawn.
"""

import contextlib
import functools
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
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from tests import fixtures as ours
from tests import groups
from tests.protocol import books
from tests.protocol import doors
from tests.services import life
from tests.services import placement
from tests.services import played

ServerOutcome = servers.ServerOutcome

# No more than that may be on a host once a server is adopted.
MOST = 2
APART = {
    'type': 'anti-affinity',
    'scope': 'host',
    'max_per_domain': MOST,
    'strict': True,
}
ADOPTED = 'm-3'

# The id of that to which servers are resized.
FLAVOR = 7

_KEPT = (
    'SELECT provider_uuid FROM vrt_holds JOIN vrt_groups '
    'ON vrt_groups.id = group_id WHERE member_id IS NOT NULL '
    'AND vrt_groups.status IN (?, ?) AND vrt_holds.status IN (?, ?, ?, ?)'
)
_RELEASED = 'SELECT uuid FROM vrt_holds WHERE status = ?'

# Whoever sleeps lets others go on instead, and its time passes.
_SLEEPERS = (
    'nova_groupext.scheduler.decide.planning',
    'nova_groupext.scheduler.placement.placement_client',
    'nova_groupext.scheduler.protocol.redeem',
    'nova_groupext.scheduler.redeem.replacement_request',
    'nova_groupext.scheduler.redeem.redeem_path',
    'nova_groupext.scheduler.redeem.reserve',
)


# What a group has that keeps its hosts to itself.
ALONE = ({'type': 'exclusive', 'scope': 'host'},)


def named(name):
    """Return the uuid of something that a test has named."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _migration(server):
    return named(f'migration of {server}')


def _server_of(path):
    return named(f'server of {path}')


OUTSIDER = named('outsider')

# What operations change past all doors: what Nova knows of servers, and the
# hints that it has stored.
NOVA, HINTS = 'Nova', 'hints'


class _Life(life.Life):
    """Says when Nova is asked.

    :param ask: called without arguments
    """

    def __init__(self, connect, ask):
        super().__init__(connect)
        self._ask = ask

    def _servers(self, context, uuids):
        self._ask()
        return super()._servers(context, uuids)


class World(fixtures.Fixture):
    """Where operations meet.

    :ivar life: life.Life
    :ivar uuid: of the group: ``m-0`` and ``m-1`` are on the provider
        ``wide``, ``m-2`` is on ``narrow``, ``spare`` is empty
    :ivar is_alone: whether the group has its hosts to itself; then there is
        room for another member on ``wide``, and for one more that is not
        there yet
    :ivar open: {provider: how much of it strangers may have still, where the
        group is alone}: what Nova, or an operator, has freed
    :ivar strangers: {consumer of somebody else: whether it came where the
        group was alone}
    :ivar granted: servers that were told to have a place
    :ivar refused: servers that were told to have none, at the end
    :ivar lost: servers that were told to have none now
    :ivar gone: servers that have ended
    :ivar removed: holds that somebody has removed from Placement
    :ivar hints: {server: pointer.Pointer}, what Nova has stored
    """

    def _setUp(self):
        self.useFixture(ours.Database('sqlite://'))
        self._books = books.Books()
        self._doors = None
        self._counts = {}
        self._seconds = itertools.count()
        self.granted, self.refused, self.gone = set(), set(), set()
        self.lost, self.removed = set(), set()
        self.hints = {}
        # Servers of which somebody has locked Nova's row.
        self._locked = set()
        self.is_alone, self.open, self.strangers = False, {}, {}
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_utils.uuidutils.generate_uuid', self._count_uuid
            )
        )
        clock = types.SimpleNamespace(
            sleep=self._sleep, monotonic=lambda: next(self._seconds)
        )
        for name in _SLEEPERS:
            where = f'{name}.time'
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
        listener = (sa.Engine, 'after_cursor_execute', self._note)
        sa.event.listen(*listener)
        self.addCleanup(sa.event.remove, *listener)
        ask = functools.partial(self.touch, reads={NOVA})
        self.life = self.useFixture(_Life(self._connect, ask))
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.nova.stored_hints._change',
                self._point,
            )
        )
        self._empty = self._saved()

    def _connect(self):
        return books.Session(lambda: self._books, self._request)

    def _request(self, *what):
        if self._doors is not None:
            self._doors.request(*what)

    def _note(self, _connection, cursor, statement, *_others):
        if self._doors is not None:
            self._doors.statement(statement, cursor.rowcount > 0)

    def touch(self, reads=(), writes=()):
        """Note what an operation reads or changes past all doors."""
        if self._doors is not None:
            self._doors.touch(reads, writes)

    def _sleep(self, _seconds):
        if self._doors is not None:
            self._doors.sleep()

    def _point(self, _context, server, wanted):
        """Change hints like stored_hints._change(): alone with a row."""
        self.touch(writes={HINTS})
        while server in self._locked:
            self._sleep(0)
        self._locked.add(server)
        try:
            self.hints[server] = wanted()
        finally:
            self._locked.discard(server)
        return self.hints[server]

    def _count_uuid(self, dashed=True):
        """Return a name that does not depend on what others do."""
        who = threading.current_thread().name
        number = self._counts[who] = self._counts.get(who, 0) + 1
        counted = named(f'{who} {number}')
        return counted if dashed else counted.replace('-', '')

    # -- from the beginning ------------------------------------------------

    def prepare(self, is_held, preparations, is_alone=False):
        """Make the group, and what operations need; runs begin there."""
        self._restore(self._empty)
        self.life.forget()
        self.is_alone = is_alone
        # One of its seats is free only if something is adopted, or added.
        self.wide = self.life.make_provider(seats=4 if is_alone else 3)
        if is_alone:
            self._reserve(life.AMOUNT)
        else:
            self.life.resize(self.wide, 2)
        self.narrow = self.life.make_provider(seats=1)
        self.spare = self.life.make_provider(seats=1)
        self.uuid = self.life.describe(
            [self.wide, self.wide, self.narrow], ALONE if is_alone else ()
        )
        if is_held:
            self.life.plan(self.uuid)
        for each in preparations:
            each(self)
        self.open.update((each, self.free(each)) for each in self.kept())
        self._start = self._saved()

    def begin(self):
        """Begin a run where prepare() has ended."""
        self._restore(self._start)
        random.seed(0)
        return self._doors

    def _saved(self):
        tables = sqlite3.connect(':memory:', check_same_thread=False)
        self._connection().backup(tables)
        told = [each.copy() for each in self._told()]
        return tables, self._books.copy(), timeutils.utcnow(), told

    def _told(self):
        """Return what is neither in the tables nor in Placement."""
        return (
            *(self._counts, *self.life.nova()),
            *(self.granted, self.refused, self.lost),
            *(self.gone, self.removed, self.hints),
            *(self.open, self.strangers),
        )

    def _restore(self, saved):
        tables, the_books, now, told = saved
        tables.backup(self._connection())
        self._books = the_books.copy()
        timeutils.set_time_override(now)
        for mine, then in zip(self._told(), told, strict=True):
            mine.clear()
            add = mine.extend if isinstance(mine, list) else mine.update
            add(then)
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
        told = [
            sorted(each.items() if isinstance(each, dict) else each)
            for each in self._told()
            if each is not self._counts
        ]
        consumers = sorted(self._books.consumers.items())
        seen = dump, consumers, told, self._doors.late
        return hashlib.sha1(repr(seen).encode()).digest()

    def consumers(self):
        """Return {uuid: books.Consumer} of those that Placement shows."""
        return self._books.shown()

    def ghosts(self):
        """Return the consumers whose amounts Placement keeps for nobody."""
        return self._books.consumers.keys() - self._books.shown().keys()

    @property
    def lost_late(self):
        """The consumers of requests that have landed late, without records."""
        return self._doors.lost_late

    def owns(self, uuid):
        """Tell whether nobody else can have what a consumer has.

        While a server moves it is its migration's.
        """
        return bool({uuid, _migration(uuid)} & self._books.consumers.keys())

    def kept(self):
        """Return the providers that the group has to itself."""
        if not self.is_alone:
            return set()
        rows = self.tables().execute(
            _KEPT, (*states.GROUP_WITH_HOLDS, *states.HOLD_COMMITTED)
        )
        return {provider for (provider,) in rows}

    def free(self, provider):
        """Return how much of a provider strangers can have.

        That counts in which a request has come late; whoever looks next
        empties it.
        """
        rows = self.tables().execute(_RELEASED, (states.Hold.RELEASED,))
        late = {uuid for (uuid,) in rows}
        [inventory] = self._books.inventories[provider].values()
        return (
            inventory['total']
            - inventory['reserved']
            - sum(
                amount
                for uuid, each in self._books.consumers.items()
                if uuid not in late
                for amount in each.allocations.get(provider, {}).values()
            )
        )

    def has_lost_records(self):
        """Check whether Placement has lost the record of any consumer."""
        return self._books.has_lost_records

    # -- what operations are made of ---------------------------------------

    def redeem(self, path, server):
        """Create a server, and note what its user is told."""
        self.redeem_all(path, [server])

    def redeem_all(self, path, names):
        created = [named(name) for name in names]
        self.touch(writes={NOVA})
        try:
            self.life.redeem_all(self.uuid, path, created)
        except BaseException as exc:
            # Nova has noted by now that they come to nothing.
            self.touch(writes={NOVA})
            if self.granted.issuperset(created):
                # Another delivery of the request was faster: Nova has that
                # one's answer.
                self._build(created)
            elif isinstance(exc, life.REFUSALS):
                self.refused.update(created)
                if redeem.IS_LOST in str(exc) and len(created) == 1:
                    self.lost.update(created)
            raise
        self.granted.update(created)
        self._build(created)

    def _build(self, created):
        """Let Nova have servers where they were told to be."""
        self.touch(reads={doors.PLACEMENT}, writes={NOVA})
        for server in created:
            [provider] = self._books.consumers[server].allocations
            self.life.fates[server] = ServerOutcome.LIVE
            self.life.whereabouts[server] = provider

    def draft(self):
        """Let the first member change places with the last one.

        A group that is alone gets another member, where it has room.
        """
        if self._draft_is_there():
            return
        seats = self.life.seats(self.uuid)
        seats |= {'m-0': self.narrow, 'm-2': self.wide}
        if self.is_alone:
            seats['m-3'] = self.wide
        self.life.revise(self.uuid, seats, ALONE if self.is_alone else ())

    def draft_dropping(self):
        """Let the last member have the room of one that is left out."""
        if self._draft_is_there():
            return
        seats = {**self.life.seats(self.uuid), 'm-2': self.wide}
        del seats['m-1']
        self.life.revise(self.uuid, seats)

    def draft_adopting(self, **moves):
        """Let a server that runs become a member, where it is.

        Its host has no room for another, but then it may go to ``wide``.

        :param moves: {path: where a member is to be instead}
        """
        if self._draft_is_there():
            return
        den = self.life.make_provider(seats=1)
        self.life.fill(den, consumer=OUTSIDER)
        self.life.fates[OUTSIDER] = ServerOutcome.LIVE
        self.life.whereabouts[OUTSIDER] = den
        self.granted.add(OUTSIDER)
        self.hints[OUTSIDER] = None
        self.life.resize(self.wide, 3)
        seats = {**self.life.seats(self.uuid), **moves, ADOPTED: den}
        self.life.revise(
            self.uuid, seats, [APART], adopts=[(ADOPTED, OUTSIDER)]
        )

    def _draft_is_there(self):
        group = self.life.group(self.uuid)
        return bool(objects.VRTGroup.drafts_of(self.life.context, [group.id]))

    def move_outsider(self):
        """Let Nova move a server to ``wide`` that perhaps is a member.

        That it is, Nova reads when it begins, which it writes down.
        """
        db.compare_and_set(self.life.context, models.Group, sa.false(), hold=1)
        pointed = self.hints.get(OUTSIDER)
        self.touch(reads={HINTS})
        self._move(
            OUTSIDER,
            self.wide,
            lambda: self.life.go_by_hints(
                *(pointed, OUTSIDER, self.wide),
                lambda: self._claim(OUTSIDER, self.wide),
            ),
        )

    def end_server(self, path, fate):
        """Let a member's server have ended, or never be built."""
        server = _server_of(path)
        if server in self.life.fates:
            return
        self.redeem(path, f'server of {path}')
        self.life.fates[server] = fate
        if fate == ServerOutcome.DELETED:
            self.life.remove(server)
        self.granted.discard(server)
        self.gone.add(server)

    def run_server(self, path):
        """Let a member have a server that runs."""
        if _server_of(path) not in self.life.fates:
            self.redeem(path, f'server of {path}')

    def shelve_server(self, path):
        """Let Nova take a server from its host, unless it moves."""
        self.touch(writes={NOVA, doors.PLACEMENT})
        server = _server_of(path)
        if server in self.life.moving | self.life.shelved:
            return
        self._books.consumers.pop(server, None)
        self.life.shelved.add(server)
        del self.life.whereabouts[server]
        self.granted.discard(server)
        self.gone.add(server)

    def move_server(self, path):
        """Let Nova move a server to ``spare``, or bring it back there."""
        server = _server_of(path)
        claim = functools.partial(self._claim, server, self.spare)
        go = (self.life.go, self.uuid, path, self.spare, claim)
        self._move(server, self.spare, functools.partial(*go))

    def grow(self, path):
        """Hold something for the resize of a server."""
        self.run_server(path)
        context, member = self.life.context, self.life.member(self.uuid, path)
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id == member.id,
            server_flavor={'name': 'small', 'vcpus': 1},
            request={
                **member.request,
                'flavor': {'nova_object.data': {'id': FLAVOR}},
            },
        )
        seat = groups.seat(self.spare, life.AMOUNT)
        reservation = objects.VRTHold.reservation(member, seat)
        reservation.create(context)
        self.life.ledger().hold(context, [reservation])
        transitions.commit_placeholders(
            context, self.life.group(self.uuid), [reservation]
        )

    def resize_server(self, path):
        """Let Nova resize a server to what is held for that."""
        server = _server_of(path)
        reservation = objects.VRTHold.get_reservation(
            self.life.context, server
        )
        if reservation is None:
            return
        claim = functools.partial(
            resize.claim,
            *(self.life.context, self.life.ledger(), reservation, server),
            *played.OWNER,
        )
        provider = reservation.provider_uuid
        go = (self.life.go, self.uuid, path, provider, claim)
        if self._move(server, provider, functools.partial(*go)):
            self.life.flavors[server] = FLAVOR

    def _move(self, server, provider, go):
        """Let Nova move a server.

        Meanwhile what it has is its migration's. What Nova does by itself is
        one step, and Nova waits for the scheduler.

        :param go: asks the scheduler; called without arguments
        :returns: whether it has moved
        """
        self.touch(writes={NOVA, doors.PLACEMENT})
        if server in self.life.moving:
            return False
        consumers = self._books.consumers
        if server in consumers:
            consumers[_migration(server)] = consumers.pop(server)
        self.life.moving.add(server)
        is_there = False
        try:
            is_there = go()
        finally:
            self._end_move(server, provider if is_there else None)
        return is_there

    def _claim(self, server, provider):
        self.touch(reads={doors.ROOM}, writes={doors.PLACEMENT})
        answer = placement.claim(
            books.Session(lambda: self._books),
            *(provider, server),
            VCPU=life.AMOUNT,
        )
        return answer.status_code == 204

    def _end_move(self, server, provider):
        self.touch(writes={NOVA, doors.PLACEMENT})
        consumers = self._books.consumers
        had = consumers.pop(_migration(server), None)
        self.life.moving.discard(server)
        if provider is not None:
            self.life.whereabouts[server] = provider
            self.life.shelved.discard(server)
            self.gone.discard(server)
            self.granted.add(server)
            return
        consumers.pop(server, None)
        if had is not None:
            consumers[server] = had

    def lose_hold(self, path):
        """Let somebody remove what is held for a member."""
        removed = self.life.hold(self.uuid, path).uuid
        self.life.remove(removed)
        self.removed.add(removed)

    def delete_server(self, path):
        """Let Nova delete a server, whatever it is."""
        self.touch(writes={NOVA})
        server = _server_of(path)
        self.gone.add(server)
        self.granted.discard(server)
        self._note_free(self.wide, lambda: self.life.remove(server))
        self.life.fates[server] = ServerOutcome.DELETED

    def add_capacity(self):
        """Let an operator enlarge ``wide``."""
        self._note_free(self.wide, lambda: self._reserve(0))

    def _reserve(self, amount):
        self._books.inventories[self.wide]['VCPU']['reserved'] = amount
        self._books.generations[self.wide] += 1

    def _note_free(self, provider, work):
        self.touch(reads={doors.ROOM}, writes={doors.PLACEMENT})
        before = self.free(provider)
        work()
        freed = self.free(provider) - before
        self.open[provider] = self.open.get(provider, 0) + freed

    def come(self):
        """Let a stranger ask for the smallest part of ``wide``."""
        consumer = named('stranger')
        if self._claim(consumer, self.wide):
            self.strangers[consumer] = self.wide in self.kept()

    def plan_draft(self):
        group = self.life.group(self.uuid)
        for draft in objects.VRTGroup.drafts_of(
            self.life.context, [group.id]
        ).values():
            self.life.plan(draft.uuid)

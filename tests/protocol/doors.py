# SPDX-License-Identifier: Apache-2.0
"""Threads that are let through one door at a time, by a list of choices.

A *step* is what one actor does from one door to the next. Unless a choice
says otherwise, who is at work goes on until it sleeps or ends, and the next
one goes on then. Requests that come late land when all others have ended.
"""

import contextlib
import dataclasses
import re
import threading

from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc

from nova_groupext.db import api as db
from nova_groupext.db import engine
from tests.protocol import books

# No run of two operations has that many steps, unless they wait for ever.
MOST_STEPS = 5000

# Statements that db.api.locked() begins with, and that keep a row as it is.
_COUNTS = re.compile(r'^UPDATE \w+ SET .*counter=\(')
_LOCKS = re.compile(
    r'^UPDATE (\w+) SET (counter=\(\1\.counter \+ \?\), )?'
    r'updated_at=\1\.updated_at '
)
_TABLE = re.compile(r'\bvrt_[a-z]+')
_CHANGES = re.compile(r'^(?:UPDATE|INSERT INTO|DELETE FROM) (vrt_[a-z]+)')
# When a row was changed nobody asks, but until when a lease is.
_CLOCK = re.compile(r'ends_at=\(?strftime|WHERE.* strftime', re.DOTALL)

# What may go wrong at a door, by what is behind it.
FAULTS = {
    'write': ('dies-before', 'dies-after', 'not-told'),
    'POST': ('dies-before', 'refused', 'late', 'dies-late'),
    'sent': (
        *('dies-after', 'not-told', 'loses-records'),
        *('late', 'late-loses-records'),
    ),
    'GET': ('silent',),
}


# Things that steps read and change besides tables and consumers. Whoever
# changes Placement as a whole meets all that ask it.
PLACEMENT, ROOM, TIME = 'Placement', 'room', 'time'


class Impossible(Exception):
    """A choice names an actor that has ended."""


class Died(BaseException):
    """Ends an actor: nobody catches it."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What is other than usual at a step.

    :ivar step: its number
    :ivar actor: who goes on instead; None for the one whose turn it is
    :ivar fault: one of FAULTS, or None
    """

    step: int
    actor: int | None = None
    fault: str | None = None

    def __str__(self):
        told = (self.step, self.actor, self.fault)
        return ':'.join(str(each) for each in told if each is not None)

    @classmethod
    def of(cls, text):
        """Read what str() has written."""
        step, *rest = text.split(':')
        [actor] = [int(each) for each in rest if each.isdigit()] or [None]
        [fault] = [each for each in rest if not each.isdigit()] or [None]
        return cls(int(step), actor, fault)


@dataclasses.dataclass
class Footprint:
    """The tables, consumers and other things that a step reads and changes.

    :ivar is_refused: whether Placement has refused a change
    """

    reads: set = dataclasses.field(default_factory=set)
    writes: set = dataclasses.field(default_factory=set)
    is_refused: bool = False

    def add(self, other):
        self.reads |= other.reads
        self.writes |= other.writes

    def meets(self, other):
        """Tell whether it makes a difference which of two comes first."""
        return bool(
            self.writes & (other.reads | other.writes)
            or self.reads & other.writes
        )

    def note(self, statement, is_changed):
        """Note a statement.

        A row that is only locked is not changed: what its transaction does
        besides tells whom it meets.
        """
        self.reads.update(_TABLE.findall(statement))
        if _CLOCK.search(statement):
            self.reads.add(TIME)
        if is_changed and not _LOCKS.search(statement):
            self.writes.update(_CHANGES.findall(statement))


@dataclasses.dataclass(frozen=True)
class Step:
    """One that was made.

    :ivar actor: whose it was
    :ivar kind: what was behind the door
    :ivar others: actors that could have gone on instead
    :ivar footprint: Footprint, noted while it was made
    """

    actor: int
    kind: str
    others: tuple
    footprint: Footprint = dataclasses.field(default_factory=Footprint)


class _Actor:
    def __init__(self, number, work):
        self.number = number
        self.at = 'start'
        self.is_over = False
        self.is_asleep = False
        self.is_dead = False
        # Whether the transaction that is under way has read anything.
        self.has_read = False
        # Of the step that it makes: what goes wrong, if anything.
        self.fault = None
        self.go = threading.Semaphore(0)
        self.work = work
        self.error = None


_here = threading.local()


class Doors:
    """Stands at the two doors while a run is under way.

    :param the_books: books.Books
    """

    def __init__(self, the_books):
        self.books = the_books
        self.steps = []
        # [(body, whether the first step is made, whether records are lost if
        # the second one is refused)] of what lands later.
        self.late = []
        # Consumers of which these may have lost the records.
        self.lost_late = set()
        # Statements that lock a row in transactions that have read before:
        # where plain reads show what there was at the first one, these miss
        # what others have written while one waits for the lock.
        self.late_locks = []
        self._stopped = threading.Semaphore(0)
        self._actors = []

    def run(self, works, choices=(), check=lambda: None):
        """Let actors work until all have ended.

        :param works: what they do, called without arguments
        :param choices: Choices, by step; or what makes them, called with the
            number of a step and {actor: what is behind its next door} of
            those that are awake, if any is
        :param check: called after each step that writes
        """
        choose = choices if callable(choices) else _chosen(choices)
        self._actors = [_Actor(*each) for each in enumerate(works)]
        for actor in self._actors:
            # By its name it is known what it has counted, see world.py.
            threading.Thread(
                target=self._live,
                args=(actor,),
                name=f'actor {actor.number}',
                daemon=True,
            ).start()
            self._stopped.acquire()
        current = self._actors[0]
        while True:
            able = [each for each in self._actors if not each.is_over]
            if not able:
                break
            number = len(self.steps)
            if number > MOST_STEPS:
                raise RuntimeError('they wait for ever')
            choice = choose(number, _awake(able))
            current = self._next(current, able, choice)
            kind = current.at
            others = tuple(e.number for e in able if e is not current)
            self.steps.append(Step(current.number, kind, others))
            current.fault = choice and choice.fault
            current.is_asleep = False
            current.go.release()
            self._stopped.acquire()
            if kind in ('write', 'POST', 'sent'):
                check()

    def _next(self, current, able, choice):
        if choice is not None and choice.actor is not None:
            for each in able:
                if each.number == choice.actor:
                    return each
            raise Impossible(choice)
        if not current.is_over and not current.is_asleep:
            return current
        awake = [e for e in able if not e.is_asleep]
        others = [e for e in awake or able if e is not current]
        return (others or able)[0]

    def _live(self, actor):
        _here.actor = actor
        self._wait(actor, 'start')
        try:
            actor.work()
        except Died:
            pass
        except BaseException as exc:
            actor.error = exc
        actor.is_over = True
        self._stopped.release()

    def _wait(self, actor, kind):
        actor.at = kind
        self._stopped.release()
        actor.go.acquire()
        return actor.fault

    def errors(self):
        """Return what actors have ended with, but for deaths."""
        return [a.error for a in self._actors if a.error is not None]

    def land_late(self):
        """Let what was sent and not answered land at last."""
        late, self.late = self.late, []
        for body, is_compared, loses in late:
            try:
                if not is_compared:
                    self.books.compare(body)
                self.books.write(body)
            except books.Refused:
                if loses:
                    self.lost_late.update(body)
                    self.books.lose_records(body)

    # -- the doors ---------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, begin, kind, context):
        """Stand around engine.reader() or engine.writer()."""
        actor = getattr(_here, 'actor', None)
        if actor is None or db._is_inside.get():
            with begin(context) as session:
                yield session
            return
        fault = self._pass(actor, kind)
        actor.has_read = False
        with begin(context) as session:
            yield session
        if fault == 'dies-after':
            self._die(actor)
        if fault == 'not-told':
            raise db_exc.DBConnectionError

    def statement(self, statement, is_changed):
        """Note what was sent to the database, and whether it changed any."""
        actor = getattr(_here, 'actor', None)
        if actor is None:
            return
        self.steps[-1].footprint.note(statement, is_changed)
        if statement.startswith('SELECT'):
            actor.has_read = True
        elif actor.has_read and _COUNTS.search(statement):
            self.late_locks.append(statement)

    def touch(self, reads=(), writes=()):
        """Note what else an actor does in its step."""
        if getattr(_here, 'actor', None) is not None:
            footprint = self.steps[-1].footprint
            footprint.add(Footprint({*reads}, {*writes}))

    def request(self, kind, what):
        """Stand before a request to Placement and between its steps."""
        actor = getattr(_here, 'actor', None)
        if actor is None:
            return
        if kind == 'GET':
            is_silent = self._pass(actor, 'GET') == 'silent'
            _kind, *named = what.strip('/').split('/')
            is_consumer = what.startswith('/allocations/')
            self.touch(reads={PLACEMENT, *(named if is_consumer else [ROOM])})
            if is_silent:
                raise ks_exc.UnknownConnectionError('no answer', None)
        elif kind == 'POST':
            fault = self._pass(actor, 'POST')
            self.touch(reads={PLACEMENT, *what})
            if fault == 'refused':
                raise ks_exc.ConnectFailure
            if fault in ('late', 'dies-late'):
                self.late.append((what, False, False))
                if fault == 'dies-late':
                    self._die(actor)
                raise books.TimedOut
        else:
            self._write(actor, what)

    def _write(self, actor, body):
        fault = self._pass(actor, 'sent')
        self.touch(reads={PLACEMENT}, writes={ROOM, *body})
        if fault is None:
            # It is done when this returns.
            self.steps[-1].footprint.is_refused = self.books.refuses(body)
            return
        if fault.startswith('late'):
            self.late.append((body, True, fault == 'late-loses-records'))
            raise ks_exc.ConnectFailure
        try:
            self.books.write(body)
        except books.Refused:
            if fault == 'loses-records':
                self.books.lose_records(body)
        if fault == 'dies-after':
            self._die(actor)
        raise ks_exc.ConnectFailure

    def sleep(self):
        """Let others go on."""
        actor = getattr(_here, 'actor', None)
        if actor is not None:
            actor.is_asleep = True
            self._pass(actor, 'sleep')

    def _pass(self, actor, kind):
        if actor.is_dead:
            raise Died
        fault = self._wait(actor, kind)
        if fault == 'dies-before':
            self._die(actor)
        return fault

    @staticmethod
    def _die(actor):
        actor.is_dead = True
        raise Died


def _chosen(choices):
    wanted = {choice.step: choice for choice in choices}
    return lambda number, _able: wanted.get(number)


def _awake(able):
    awake = [each for each in able if not each.is_asleep]
    return {each.number: each.at for each in awake or able}


@contextlib.contextmanager
def open_doors(doors):
    """Let all transactions pass some doors.

    :param doors: called without arguments, returns the Doors or None
    """
    real = {name: getattr(engine, name) for name in ('reader', 'writer')}

    def through(name, kind):
        def begin(context):
            at = doors()
            if at is None:
                return real[name](context)
            return at.transaction(real[name], kind, context)

        return begin

    engine.reader = through('reader', 'read')
    engine.writer = through('writer', 'write')
    try:
        yield
    finally:
        for name, begin in real.items():
            setattr(engine, name, begin)

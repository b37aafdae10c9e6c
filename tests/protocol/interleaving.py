# SPDX-License-Identifier: Apache-2.0
"""Deterministic interleaving of coroutines, given by a list of choices.

Each actor is a greenlet that stops before every transaction and Placement
request. A *step* is its work from one stop to the next. Unless a choice
preempts an actor, it runs until it sleeps or ends; then the next one runs.
Late requests reach Placement after all actors have ended.
"""

import contextlib
import dataclasses
import functools
import re

import greenlet
from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from nova_groupext.db import engine
from nova_groupext.db import retries
from tests.protocol import fake_placement

# A run of two operations has fewer steps unless it is in an endless loop.
MAX_STEPS = 5000

# First statements of db.api.with_row_lock(), which lock a row unchanged.
_COUNTER_UPDATE = re.compile(r'^UPDATE \w+ SET .*counter=\(')
_ROW_LOCK = re.compile(
    r'^UPDATE (\w+) SET (counter=\(\1\.counter \+ \?\), )?'
    r'updated_at=\1\.updated_at '
)
_TABLE_NAME = re.compile(r'\bvrt_[a-z_]+')
_CHANGED_TABLE = re.compile(
    r'^(?:UPDATE|INSERT INTO|DELETE FROM) (vrt_[a-z_]+)'
)
# Statements that read the clock for a lease; other times are never compared.
_CLOCK_READ = re.compile(r'ends_at=\(?strftime|WHERE.* strftime', re.DOTALL)

# Faults that may happen at a step, by the kind of the step.
FAULTS = {
    'read': ('no-connection',),
    'write': ('dies-before', 'dies-after', 'lost-answer', 'no-connection'),
    'POST': ('dies-before', 'refused', 'late', 'dies-late'),
    'sent': (
        *('dies-after', 'lost-answer', 'loses-records'),
        *('late', 'late-loses-records'),
    ),
    'GET': ('no-answer',),
}


# Parts of a footprint besides tables and consumers. A step that changes
# Placement as a whole conflicts with each step that reads from it.
PLACEMENT, FREE_CAPACITY, TIME = 'Placement', 'free capacity', 'time'


class ActorHasEnded(Exception):
    """A choice names an actor that has ended."""


class ActorKilled(BaseException):
    """Kill of an actor; no ``except Exception`` catches it."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """Preemption or fault at a step.

    :ivar step: number of the step
    :ivar actor: actor that runs; None for the one that ran before
    :ivar fault: one of FAULTS, or None
    """

    step: int
    actor: int | None = None
    fault: str | None = None

    def __str__(self):
        parts = (self.step, self.actor, self.fault)
        return ':'.join(str(each) for each in parts if each is not None)

    @classmethod
    def of(cls, text):
        """Parse the text that str() returns."""
        step, *rest = text.split(':')
        [actor] = [int(each) for each in rest if each.isdigit()] or [None]
        [fault] = [each for each in rest if not each.isdigit()] or [None]
        return cls(int(step), actor, fault)


@dataclasses.dataclass
class Footprint:
    """Tables, consumers and other state that a step reads and writes.

    :ivar is_refused: whether Placement refused a change
    """

    reads: set = dataclasses.field(default_factory=set)
    writes: set = dataclasses.field(default_factory=set)
    is_refused: bool = False

    def add(self, other):
        self.reads |= other.reads
        self.writes |= other.writes

    def conflicts_with(self, other):
        """Check whether the order of two steps matters."""
        return bool(
            self.writes & (other.reads | other.writes)
            or self.reads & other.writes
        )

    def record_statement(self, statement, is_changed):
        """Add the accesses of an SQL statement.

        A statement that only locks a row counts as a read: the other
        statements of its transaction decide about conflicts.
        """
        self.reads.update(_TABLE_NAME.findall(statement))
        if _CLOCK_READ.search(statement):
            self.reads.add(TIME)
        if is_changed and not _ROW_LOCK.search(statement):
            self.writes.update(_CHANGED_TABLE.findall(statement))


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of a run.

    :ivar actor: number of the actor
    :ivar kind: kind of the transaction or request
    :ivar others: actors that could have run instead
    :ivar footprint: Footprint of the step
    """

    actor: int
    kind: str
    others: tuple
    footprint: Footprint = dataclasses.field(default_factory=Footprint)


class _Actor:
    def __init__(self, number, work):
        self.number = number
        self.next_kind = 'start'
        self.has_ended = False
        self.is_sleeping = False
        self.is_dead = False
        # True once the current transaction has read a row.
        self.has_read = False
        # Fault of the current step, or None.
        self.fault = None
        # Hash of all that the actor has read: it determines what it does next.
        self.history = 0
        self.error = None
        self._greenlet = greenlet.greenlet(lambda: self._run(work))

    def _run(self, work):
        try:
            self.stop('start')
            work()
        except ActorKilled:
            pass
        except BaseException as exc:
            self.error = exc
        self.has_ended = True

    def resume(self):
        """Run the actor until it stops or ends."""
        self._greenlet.switch()

    def stop(self, kind):
        """Wait until the actor is resumed; called by the actor.

        :param kind: kind of the next step
        :returns: the fault of this step, or None
        """
        self.next_kind = kind
        self._greenlet.parent.switch()
        if self.is_dead:
            raise ActorKilled
        return self.fault

    def state(self):
        """Return all that determines what the actor does next."""
        if self.has_ended:
            return type(self.error)
        return self.history, self.next_kind, self.is_sleeping


class Interleaver:
    """Scheduler of the actors of one run.

    :param placement: fake_placement.FakePlacement
    """

    def __init__(self, placement):
        self.placement = placement
        self.steps = []
        # [(body, whether its generations were compared, whether a conflict
        # makes Placement lose records)] of the requests that land late.
        self.late_requests = []
        # Consumers whose records these requests may have lost.
        self.late_lost_consumers = set()
        # Statements that lock a row in transactions that have read before:
        # with snapshot isolation, such a transaction does not see what others
        # wrote while it waited for the lock.
        self.late_locks = []
        self._actors = []
        # Actor of the last step
        self._last = None
        # Actor that runs; None between the steps
        self._running = None

    def run(
        self,
        works,
        choices=(),
        check=lambda: None,
        is_known=lambda _number, _state: False,
    ):
        """Run actors until all have ended, or the rest of the run is known.

        :param works: functions of the actors, called without arguments
        :param choices: Choices; or a function that returns a Choice or None,
            called with the number of a step and {actor: kind of its next
            step} of the actors that are awake, or of all if none is
        :param check: function called after each step that writes
        :param is_known: function that returns whether the rest of the run is
            known, called with the number of a step and a function that
            returns the state of all actors before it
        :returns: whether all actors have ended
        """
        self._actors = [_Actor(*each) for each in enumerate(works)]
        self._last = self._actors[0]
        for actor in self._actors:
            self._resume(actor)
        choose = choices if callable(choices) else _by_step(choices)
        while runnable := [e for e in self._actors if not e.has_ended]:
            number = len(self.steps)
            if number > MAX_STEPS:
                raise RuntimeError('the actors wait for ever')
            if is_known(number, functools.partial(self._state, runnable)):
                self._kill_all(runnable)
                return False
            choice = choose(number, _awake_actors(runnable))
            kind = self._step(runnable, choice)
            if kind in ('write', 'POST', 'sent'):
                check()
        return True

    def _step(self, runnable, choice):
        """Run a step; return its kind."""
        actor = self._last = self._next(runnable, choice)
        kind = actor.next_kind
        others = tuple(e.number for e in runnable if e is not actor)
        self.steps.append(Step(actor.number, kind, others))
        actor.fault = choice and choice.fault
        actor.is_sleeping = False
        self._resume(actor)
        return kind

    def _state(self, runnable):
        following = self._next(runnable, None)
        return following.number, *(each.state() for each in self._actors)

    def _kill_all(self, actors):
        for actor in actors:
            actor.is_dead = True
            self._resume(actor)

    def _resume(self, actor):
        self._running = actor
        actor.resume()
        self._running = None

    def _next(self, runnable, choice):
        if choice is not None and choice.actor is not None:
            for each in runnable:
                if each.number == choice.actor:
                    return each
            raise ActorHasEnded(choice)
        if not self._last.has_ended and not self._last.is_sleeping:
            return self._last
        awake = [e for e in runnable if not e.is_sleeping]
        others = [e for e in awake or runnable if e is not self._last]
        return (others or runnable)[0]

    @property
    def running(self):
        """Number of the actor that runs; None between the steps."""
        return self._running and self._running.number

    def errors(self):
        """Return the exceptions of the actors, except kills."""
        return [a.error for a in self._actors if a.error is not None]

    def apply_late_requests(self):
        """Apply the late requests to Placement."""
        late, self.late_requests = self.late_requests, []
        for body, is_compared, loses_records in late:
            try:
                if not is_compared:
                    self.placement.compare(body)
                self.placement.write(body)
            except fake_placement.Conflict:
                if loses_records:
                    self.late_lost_consumers.update(body)
                    self.placement.lose_records(body)

    # -- intercepted calls -------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, begin, kind, context):
        """Run a transaction of engine.reader() or engine.writer()."""
        actor = self._running
        if actor is None or retries.in_locked_work.get():
            with begin(context) as session:
                yield session
            return
        fault = self._stop_before(actor, kind)
        if fault == 'no-connection':
            raise db_exc.DBConnectionError
        actor.has_read = False
        with begin(context) as session:
            yield session
        if fault == 'dies-after':
            self._kill(actor)
        if fault == 'lost-answer':
            raise db_exc.DBConnectionError

    def statement(self, statement, is_changed):
        """Record an SQL statement, and whether it changed any row."""
        actor = self._running
        if actor is None:
            return
        self.record_read((is_changed, timeutils.utcnow()))
        self.steps[-1].footprint.record_statement(statement, is_changed)
        if statement.startswith('SELECT'):
            actor.has_read = True
        elif actor.has_read and _COUNTER_UPDATE.search(statement):
            self.late_locks.append(statement)

    def record_read(self, value):
        """Record what the current actor has read.

        :param value: any hashable value
        """
        actor = self._running
        if actor is not None:
            actor.history = hash((actor.history, value))

    def record_access(self, reads=(), writes=()):
        """Add accesses to the footprint of the current step."""
        if self._running is not None:
            footprint = self.steps[-1].footprint
            footprint.add(Footprint({*reads}, {*writes}))

    def request(self, kind, target):
        """Stop before a Placement request, and between its two phases."""
        actor = self._running
        if actor is None:
            return
        if kind == 'GET':
            is_silent = self._stop_before(actor, 'GET') == 'no-answer'
            _kind, *uuids = target.strip('/').split('/')
            is_consumer = target.startswith('/allocations/')
            self.record_access(
                reads={PLACEMENT, *(uuids if is_consumer else [FREE_CAPACITY])}
            )
            if is_silent:
                raise ks_exc.UnknownConnectionError('no answer', None)
        elif kind == 'POST':
            fault = self._stop_before(actor, 'POST')
            self.record_access(reads={PLACEMENT, *target})
            if fault == 'refused':
                raise ks_exc.ConnectFailure
            if fault in ('late', 'dies-late'):
                self.late_requests.append((target, False, False))
                if fault == 'dies-late':
                    self._kill(actor)
                raise fake_placement.GatewayTimeout
        else:
            self._write(actor, target)

    def _write(self, actor, body):
        fault = self._stop_before(actor, 'sent')
        self.record_access(reads={PLACEMENT}, writes={FREE_CAPACITY, *body})
        if fault is None:
            # The caller writes when this method has returned.
            footprint = self.steps[-1].footprint
            footprint.is_refused = self.placement.would_conflict(body)
            return
        if fault.startswith('late'):
            self.late_requests.append(
                (body, True, fault == 'late-loses-records')
            )
            raise ks_exc.ConnectFailure
        try:
            self.placement.write(body)
        except fake_placement.Conflict:
            if fault == 'loses-records':
                self.placement.lose_records(body)
        if fault == 'dies-after':
            self._kill(actor)
        raise ks_exc.ConnectFailure

    def sleep(self):
        """Stop the actor until others have ended or sleep as well."""
        actor = self._running
        if actor is not None:
            actor.is_sleeping = True
            self._stop_before(actor, 'sleep')

    def _stop_before(self, actor, kind):
        if actor.is_dead:
            raise ActorKilled
        fault = actor.stop(kind)
        if fault == 'dies-before':
            self._kill(actor)
        if fault is not None:
            self.record_read(fault)
        return fault

    @staticmethod
    def _kill(actor):
        actor.is_dead = True
        raise ActorKilled


def _by_step(choices):
    choice_of = {choice.step: choice for choice in choices}
    return lambda number, _runnable: choice_of.get(number)


def _awake_actors(runnable):
    awake = [each for each in runnable if not each.is_sleeping]
    return {each.number: each.next_kind for each in awake or runnable}


@contextlib.contextmanager
def intercept_transactions(get_interleaver):
    """Run all transactions of a ``with`` block through an Interleaver.

    :param get_interleaver: function that returns the Interleaver or None
    """
    original = {name: getattr(engine, name) for name in ('reader', 'writer')}

    def intercepted(name, kind):
        def begin(context):
            interleaver = get_interleaver()
            if interleaver is None:
                return original[name](context)
            return interleaver.transaction(original[name], kind, context)

        return begin

    engine.reader = intercepted('reader', 'read')
    engine.writer = intercepted('writer', 'write')
    try:
        yield
    finally:
        for name, begin in original.items():
            setattr(engine, name, begin)

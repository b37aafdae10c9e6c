# SPDX-License-Identifier: Apache-2.0
"""Run two operations in every order in which they can meet.

``python -m tests.protocol.explore`` explores all pairs; ``--seconds`` gives
each pair a share, ``--pair`` names one, ``--replay`` repeats one run. Two
changes of turns without a fault, and each fault at each door with one change,
where both touch the same rows or consumers. ``--random`` lets three of them
meet after that, in orders drawn by chance, with one fault.
"""

import argparse
import collections
from concurrent import futures
import itertools
import logging
import os
import random
import sys
import time

from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from tests import shares
from tests.protocol import doors
from tests.protocol import invariants
from tests.protocol import operations
from tests.protocol import world
from tests.services import life

Choice = doors.Choice

# How often the same three meet before others do.
RUNS_OF_THREE = 10

# The share of groups that have hosts to themselves in these.
ALONE = 0.4


class Failure(Exception):
    """A run has found something; tells how to see it again."""


class Pair:
    """Two operations on one group, or more.

    :param here: world.World
    :param names: of the operations, in the order in which they begin
    :param runs: how many there were: what is late lands after the reaper's
        round in each second one, before it in the others
    """

    def __init__(self, here, names, runs=0):
        self._here = here
        self.names = names
        self.runs = runs
        self._both = [operations.OPERATIONS[name] for name in names]
        # What has come to rest well.
        self._well = set()

    def prepare(self):
        preparations = [
            each.prepare
            for each in operations.OPERATIONS.values()
            if each in self._both and each.prepare
        ]
        is_held = all(each.is_held for each in self._both)
        is_alone = any(each.is_alone for each in self._both)
        self._here.prepare(is_held, preparations, is_alone)

    def run(self, choices):
        """Run it once, from the beginning to the reaper's rest.

        :returns: the Steps
        :raises: Failure
        """
        self.runs += 1
        try:
            return self._run(choices)
        except doors.Impossible:
            raise
        except Exception as exc:
            told = ' '.join(map(str, choices))
            names = ' '.join(f'"{name}"' for name in self.names)
            raise Failure(
                f'{type(exc).__name__}: {exc}\n'
                f'see it again: --pair {names} --replay "{told}"'
            ) from exc

    def _run(self, choices):
        here = self._here
        at = here.begin()
        at.run(
            [lambda work=each.work: work(here) for each in self._both],
            choices,
            lambda: invariants.check_step(here),
        )
        if at.late_locks:
            raise invariants.Violation(f'read before: {at.late_locks[0]}')
        for error in at.errors():
            if not isinstance(error, (*life.REFUSALS, *database_errors.ANY)):
                raise error
        invariants.check_answers(here)
        digest = here.digest()
        if digest not in self._well:
            self._rest(at)
            self._well.add(digest)
        return at.steps

    def _rest(self, at):
        """Land what is late, before or after the reaper; then all rests."""
        is_very_late = bool(at.late) and self.runs % 2
        if not is_very_late:
            at.land_late()
        self._here.life.reap()
        at.land_late()
        self._here.life.reap()
        invariants.check_rest(self._here)


def schedules(pair):
    """Yield the runs of a pair, few choices first; run each that is asked."""
    usual = [(), (Choice(0, actor=1),)]
    seen = []
    for choices in usual:
        yield choices
        seen.append((choices, pair.run(choices)))
    touched = _touched(seen)
    grown = [
        more
        for choices, steps in seen
        for more in (
            *_faults(choices, steps),
            *_turns(choices, steps, touched),
        )
    ]
    random.Random(len(grown)).shuffle(grown)
    turns, singles = [], []
    for choices in grown:
        yield choices
        found = singles if choices[-1].fault else turns
        found.append((choices, pair.run(choices)))
    rest = [
        *((c, s, _only(_faults_after, touched)) for c, s in turns),
        *((c, s, _only(_back, touched)) for c, s in turns),
        *((c, s, _only(_turns, touched)) for c, s in singles),
    ]
    random.Random(len(rest)).shuffle(rest)
    last = [
        more for choices, steps, grow in rest for more in grow(choices, steps)
    ]
    random.Random(len(last)).shuffle(last)
    for choices in dict.fromkeys(last):
        yield choices
        pair.run(choices)


def _only(grow, touched):
    return lambda choices, steps: grow(choices, steps, touched)


def _after(choices):
    return choices[-1].step + 1 if choices else 0


def _faults(choices, steps):
    """Yield faults after all that was chosen."""
    changed = set()
    for number, step in enumerate(steps):
        if number >= _after(choices):
            for fault in doors.FAULTS.get(step.kind, ()):
                is_new = {
                    # Who has changed something dies after that: it is alike.
                    'dies-before': step.actor not in changed,
                    # Else the answer is lost, and that is all.
                    'loses-records': step.footprint.is_refused,
                }
                if is_new.get(fault, True):
                    yield (*choices, Choice(number, fault=fault))
        if step.kind in ('write', 'sent'):
            changed.add(step.actor)


def _turns(choices, steps, touched):
    """Yield changes of turns where the next step and others' meet."""
    for number, step in enumerate(steps):
        if number < max(1, _after(choices)):
            continue
        for other in step.others:
            if step.footprint.meets(touched[other]):
                yield (*choices, Choice(number, actor=other))


def _faults_after(choices, steps, touched):
    """Yield faults after a change of turns, where that makes a difference."""
    ready = _ready(choices, steps)
    for more in _faults(choices, steps):
        number, fault = more[-1].step, more[-1].fault
        step = steps[number]
        meets = any(
            step.footprint.meets(other)
            for actor, other in touched.items()
            if actor != step.actor
        )
        if meets and (number in ready or not fault.startswith('dies')):
            yield more


def _back(choices, steps, touched):
    """Yield changes of turns after one, where that makes a difference."""
    ready = _ready(choices, steps)
    for more in _turns(choices, steps, touched):
        if more[-1].step - 1 in ready:
            yield more


def _ready(choices, steps):
    """Return the steps with which a change of turns makes a difference.

    It makes none if the step that was put off meets nothing of what comes
    before it now: it could as well have been made first.
    """
    first = choices[-1].step
    other = steps[first].actor
    put_off = next(each for each in steps[first:] if each.actor != other)
    before, ready = doors.Footprint(), set()
    for number in range(first, len(steps)):
        before.add(steps[number].footprint)
        if steps[number].actor != other or before.meets(put_off.footprint):
            ready.add(number)
    return ready


def _touched(seen):
    """Return {actor: Footprint of all that it does}."""
    found = collections.defaultdict(doors.Footprint)
    for _choices, steps in seen:
        for step in steps:
            found[step.actor].add(step.footprint)
    return found


def explore(here, names, seconds=None):
    """Explore a pair, for a while or to the end.

    :param seconds: of the processor, so that it is as much beside others
    :returns: (how many runs, whether these were all)
    :raises: Failure
    """
    pair = Pair(here, names)
    pair.prepare()
    ends_at = time.process_time() + (seconds or 0)
    for _choices in schedules(pair):
        if seconds is not None and time.process_time() > ends_at:
            return pair.runs, False
    return pair.runs, True


class Chance:
    """Makes choices by chance: who goes first, and what goes wrong.

    The actor with the highest priority goes on until that is lowered, at a
    few steps (Burckhardt et al., "A Randomized Scheduler with Probabilistic
    Guarantees of Finding Bugs", 2010).

    :param rng: random.Random
    :param actors: how many there are
    :ivar made: the Choices by which a run can be repeated
    """

    # How long runs are that such steps are drawn from.
    STEPS = 60
    CHANGES = 3

    def __init__(self, rng, actors):
        self._rng = rng
        self._order = rng.sample(range(actors), actors)
        self._changes = rng.choices(range(self.STEPS), k=self.CHANGES)
        self._goes_wrong = rng.randrange(2 * self.STEPS)
        self._last = None
        self.made = []

    def __iter__(self):
        return iter(self.made)

    def __call__(self, number, able):
        first = min(able, key=self._order.index)
        if number in self._changes:
            self._order.remove(first)
            self._order.append(first)
            first = min(able, key=self._order.index)
        fault, known = None, doors.FAULTS.get(able[first])
        if known and number >= self._goes_wrong:
            fault = self._rng.choice(known)
            self._goes_wrong = float('inf')
        choice = Choice(number, first, fault)
        if fault or first != self._last or able[first] == 'sleep':
            # Else it is the one whose turn it is.
            self.made.append(choice)
        self._last = first
        return choice


def meet_by_chance(here, rng, seconds):
    """Let three operations meet again and again, others each time.

    :returns: how many runs these were
    :raises: Failure
    """
    known = operations.OPERATIONS
    ends_at, runs = time.process_time() + seconds, 0
    while time.process_time() < ends_at:
        is_alone = rng.random() < ALONE
        able = [
            name
            for name, each in known.items()
            if each.is_held and each.is_alone == is_alone
        ]
        three = Pair(here, rng.sample(able, 3))
        three.prepare()
        for _run in range(RUNS_OF_THREE):
            three.run(Chance(rng, 3))
        runs += three.runs
    return runs


def pairs():
    """Return all pairs of operations, those with themselves as well.

    But for those of which one needs a group that is held, or has hosts to
    itself, and one another.
    """
    return [
        names
        for names in itertools.combinations_with_replacement(
            operations.OPERATIONS, 2
        )
        if operations.is_pair(*names)
    ]


def _drawn(share, draw):
    return [
        names
        for names in pairs()
        if shares.is_drawn(' and '.join(names), share, draw)
    ]


def _explored(names, seconds):
    """Explore a pair in a world of its own.

    :returns: (what is to be told of it, whether nothing was found)
    """
    began = time.process_time()
    with world.World() as here:
        try:
            runs, are_all = explore(here, names, seconds)
        except Failure as exc:
            return f'{" and ".join(names)}: {exc}', False
    told = f'{runs} runs{", all" if are_all else ""}'
    took = time.process_time() - began
    return f'{" and ".join(names)}: {told}, {took:.0f} s', True


def _met_by_chance(seed, seconds):
    with world.World() as here:
        try:
            runs = meet_by_chance(here, random.Random(seed), seconds)
        except Failure as exc:
            return f'three by chance: {exc}', False
    return f'three by chance: {runs} runs, {seconds:.0f} s', True


def _replay(names, choices):
    with world.World() as here:
        for runs in range(2):
            pair = Pair(here, names, runs)
            pair.prepare()
            pair.run(choices)


def in_processes(work, *arguments):
    """Do work for each of several arguments, on all cores.

    :param work: called with one of each of the arguments; returns (what is to
        be told, whether all is well)
    :returns: whether all was well
    """
    is_well = True
    with futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for told, is_one_well in pool.map(work, *arguments):
            print(told, flush=True)  # noqa: T201
            is_well &= is_one_well
    return is_well


def main(argv=None):
    parser = argparse.ArgumentParser(prog='explore', description=__doc__)
    parser.add_argument('--pair', nargs='+', metavar='OPERATION')
    parser.add_argument(
        '--seconds', type=float, help='of a processor, for each pair'
    )
    parser.add_argument(
        '--random', type=float, default=0, help='seconds of each processor'
    )
    parser.add_argument('--replay', help='choices of one run of the pair')
    parser.add_argument(
        '--share', type=int, default=1, metavar='N', help='one pair in N'
    )
    parser.add_argument(
        '--draw', default='', help='any text; the same draws the same again'
    )
    args = parser.parse_args(argv)
    CONF([], project='nova', default_config_files=[])
    logging.disable()
    if args.replay is not None:
        _replay(args.pair, [Choice.of(e) for e in args.replay.split()])
        return 0
    chosen = [args.pair] if args.pair else _drawn(args.share, args.draw)
    is_well = in_processes(_explored, chosen, itertools.repeat(args.seconds))
    if args.random:
        seeds = [random.SystemRandom().random() for _ in range(os.cpu_count())]
        chances = itertools.repeat(args.random)
        is_well &= in_processes(_met_by_chance, seeds, chances)
    return not is_well


if __name__ == '__main__':
    sys.exit(main())

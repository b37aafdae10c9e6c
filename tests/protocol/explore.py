# SPDX-License-Identifier: Apache-2.0
"""Explore the interleavings of two operations on one group.

``python -m tests.protocol.explore`` explores all pairs; ``--seconds`` limits
the time for each pair, ``--pair`` selects one, ``--replay`` repeats one run.
A run has two preemptions, or a fault and a preemption, where the operations
access the same rows or consumers. ``--random`` then runs three operations at
a time, with random preemptions and one fault.
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
from tests.protocol import interleaving
from tests.protocol import invariants
from tests.protocol import operations
from tests.protocol import simulated_cloud
from tests.services import deployment

Choice = interleaving.Choice

# Number of runs of the same three operations.
RUNS_PER_TRIPLE = 10

# Share of groups with exclusive hosts in these runs.
EXCLUSIVE_SHARE = 0.4


class Failure(Exception):
    """A failed run; its text has the arguments that repeat the run."""


class Scenario:
    """Concurrent operations on one group.

    :param cloud: simulated_cloud.SimulatedCloud
    :param names: names of the operations, in the order of their start
    :param runs: number of earlier runs: late requests land after the reaper's
        round in every second run, before it in the others
    """

    def __init__(self, cloud, names, runs=0):
        self._cloud = cloud
        self.names = names
        self.runs = runs
        self._operations = [operations.OPERATIONS[name] for name in names]
        # Digests of the states from which a check of the rest has passed.
        self._verified = set()

    def prepare(self):
        preparations = [
            each.prepare
            for each in operations.OPERATIONS.values()
            if each in self._operations and each.prepare
        ]
        is_held = all(each.is_held for each in self._operations)
        is_exclusive = any(each.is_exclusive for each in self._operations)
        self._cloud.prepare(is_held, preparations, is_exclusive)

    def run(self, choices):
        """Run the operations once, then the reaper until nothing changes.

        :returns: list of Step
        :raises: Failure
        """
        self.runs += 1
        try:
            return self._run(choices)
        except interleaving.ActorHasEnded:
            raise
        except Exception as exc:
            text = ' '.join(map(str, choices))
            names = ' '.join(f'"{name}"' for name in self.names)
            raise Failure(
                f'{type(exc).__name__}: {exc}\n'
                f'to repeat it: --pair {names} --replay "{text}"'
            ) from exc

    def _run(self, choices):
        cloud = self._cloud
        interleaver = cloud.restart()
        interleaver.run(
            [lambda work=each.work: work(cloud) for each in self._operations],
            choices,
            lambda: invariants.check_step(cloud),
        )
        if interleaver.late_locks:
            raise invariants.Violation(
                f'read before: {interleaver.late_locks[0]}'
            )
        for error in interleaver.errors():
            if not isinstance(
                error, (*deployment.REFUSALS, *database_errors.ANY)
            ):
                raise error
        invariants.check_answers(cloud)
        digest = cloud.digest()
        if digest not in self._verified:
            self._rest(interleaver)
            self._verified.add(digest)
        return interleaver.steps

    def _rest(self, interleaver):
        """Apply late requests before or after the reaper; check the rest."""
        is_very_late = bool(interleaver.late_requests) and self.runs % 2
        if not is_very_late:
            interleaver.apply_late_requests()
        self._cloud.deployment.reap()
        interleaver.apply_late_requests()
        self._cloud.deployment.reap()
        invariants.check_rest(self._cloud)


def schedules(scenario):
    """Yield the choices of each run, fewest first, and run them."""
    basic_choices = [(), (Choice(0, actor=1),)]
    first_runs = []
    for choices in basic_choices:
        yield choices
        first_runs.append((choices, scenario.run(choices)))
    footprints = _footprints(first_runs)
    extensions = [
        longer
        for choices, steps in first_runs
        for longer in (
            *_faults(choices, steps),
            *_preemptions(choices, steps, footprints),
        )
    ]
    random.Random(len(extensions)).shuffle(extensions)
    preemptions, single_faults = [], []
    for choices in extensions:
        yield choices
        runs_of_kind = single_faults if choices[-1].fault else preemptions
        runs_of_kind.append((choices, scenario.run(choices)))
    extenders = [
        *((c, s, _only(_faults_after, footprints)) for c, s in preemptions),
        *(
            (c, s, _only(_second_preemptions, footprints))
            for c, s in preemptions
        ),
        *((c, s, _only(_preemptions, footprints)) for c, s in single_faults),
    ]
    random.Random(len(extenders)).shuffle(extenders)
    longest = [
        longer
        for choices, steps, extend in extenders
        for longer in extend(choices, steps)
    ]
    random.Random(len(longest)).shuffle(longest)
    for choices in dict.fromkeys(longest):
        yield choices
        scenario.run(choices)


def _only(extend, footprints):
    return lambda choices, steps: extend(choices, steps, footprints)


def _next_step(choices):
    return choices[-1].step + 1 if choices else 0


def _faults(choices, steps):
    """Yield the choices extended by a fault."""
    changed = set()
    for number, step in enumerate(steps):
        if number >= _next_step(choices):
            for fault in interleaving.FAULTS.get(step.kind, ()):
                is_new = {
                    # After a change, it equals a death after that change.
                    'dies-before': step.actor not in changed,
                    # Placement loses records only when it refuses.
                    'loses-records': step.footprint.is_refused,
                }
                if is_new.get(fault, True):
                    yield (*choices, Choice(number, fault=fault))
        if step.kind in ('write', 'sent'):
            changed.add(step.actor)


def _preemptions(choices, steps, footprints):
    """Yield the choices extended by a preemption before a conflict."""
    for number, step in enumerate(steps):
        if number < max(1, _next_step(choices)):
            continue
        for other in step.others:
            if step.footprint.conflicts_with(footprints[other]):
                yield (*choices, Choice(number, actor=other))


def _faults_after(choices, steps, footprints):
    """Yield the choices extended by a fault that the preemption affects."""
    relevant = _relevant_steps(choices, steps)
    for longer in _faults(choices, steps):
        number, fault = longer[-1].step, longer[-1].fault
        step = steps[number]
        conflicts = any(
            step.footprint.conflicts_with(other)
            for actor, other in footprints.items()
            if actor != step.actor
        )
        if conflicts and (number in relevant or not fault.startswith('dies')):
            yield longer


def _second_preemptions(choices, steps, footprints):
    """Yield the choices extended by a second preemption that matters."""
    relevant = _relevant_steps(choices, steps)
    for longer in _preemptions(choices, steps, footprints):
        if longer[-1].step - 1 in relevant:
            yield longer


def _relevant_steps(choices, steps):
    """Return the numbers of the steps whose order the preemption changes.

    A delayed step that conflicts with no step before it could as well have
    been first.
    """
    first = choices[-1].step
    other = steps[first].actor
    delayed = next(each for each in steps[first:] if each.actor != other)
    before, relevant = interleaving.Footprint(), set()
    for number in range(first, len(steps)):
        before.add(steps[number].footprint)
        if steps[number].actor != other or before.conflicts_with(
            delayed.footprint
        ):
            relevant.add(number)
    return relevant


def _footprints(first_runs):
    """Return {actor: Footprint of all its steps}."""
    runs_of_kind = collections.defaultdict(interleaving.Footprint)
    for _choices, steps in first_runs:
        for step in steps:
            runs_of_kind[step.actor].add(step.footprint)
    return runs_of_kind


def explore(cloud, names, seconds=None):
    """Explore a pair of operations.

    :param seconds: limit of the CPU time, None for none
    :returns: (number of runs, whether these were all)
    :raises: Failure
    """
    scenario = Scenario(cloud, names)
    scenario.prepare()
    deadline = time.process_time() + (seconds or 0)
    for _choices in schedules(scenario):
        if seconds is not None and time.process_time() > deadline:
            return scenario.runs, False
    return scenario.runs, True


class RandomSchedule:
    """Random choices of preemptions and of one fault.

    The actor with the highest priority runs until a few random steps lower
    its priority (Burckhardt et al., "A Randomized Scheduler with
    Probabilistic Guarantees of Finding Bugs", 2010).

    :param rng: random.Random
    :param actors: number of actors
    :ivar choices: Choices that repeat the run
    """

    # Number of steps among which the random ones are drawn.
    STEPS = 60
    CHANGES = 3

    def __init__(self, rng, actors):
        self._rng = rng
        self._order = rng.sample(range(actors), actors)
        self._changes = rng.choices(range(self.STEPS), k=self.CHANGES)
        self._fault_from = rng.randrange(2 * self.STEPS)
        self._last_actor = None
        self.choices = []

    def __iter__(self):
        return iter(self.choices)

    def __call__(self, number, runnable):
        first = min(runnable, key=self._order.index)
        if number in self._changes:
            self._order.remove(first)
            self._order.append(first)
            first = min(runnable, key=self._order.index)
        fault, faults = None, interleaving.FAULTS.get(runnable[first])
        if faults and number >= self._fault_from:
            fault = self._rng.choice(faults)
            self._fault_from = float('inf')
        choice = Choice(number, first, fault)
        if fault or first != self._last_actor or runnable[first] == 'sleep':
            # Without a choice, the same actor runs again.
            self.choices.append(choice)
        self._last_actor = first
        return choice


def explore_triples(cloud, rng, seconds):
    """Run random triples of operations until the time is over.

    :returns: number of runs
    :raises: Failure
    """
    all_operations = operations.OPERATIONS
    deadline, runs = time.process_time() + seconds, 0
    while time.process_time() < deadline:
        is_exclusive = rng.random() < EXCLUSIVE_SHARE
        runnable = [
            name
            for name, each in all_operations.items()
            if each.is_held and each.is_exclusive == is_exclusive
        ]
        scenario = Scenario(cloud, rng.sample(runnable, 3))
        scenario.prepare()
        for _run in range(RUNS_PER_TRIPLE):
            scenario.run(RandomSchedule(rng, 3))
        runs += scenario.runs
    return runs


def pairs():
    """Return all pairs of operations that can run on the same group.

    A pair may be an operation twice.
    """
    return [
        names
        for names in itertools.combinations_with_replacement(
            operations.OPERATIONS, 2
        )
        if operations.is_pair(*names)
    ]


def _sampled(share, draw):
    return [
        names
        for names in pairs()
        if shares.is_sampled(' and '.join(names), share, draw)
    ]


def _explore_pair(names, seconds):
    """Explore a pair in a new SimulatedCloud.

    :returns: (report, whether the pair passed)
    """
    started = time.process_time()
    with simulated_cloud.SimulatedCloud() as cloud:
        try:
            runs, is_complete = explore(cloud, names, seconds)
        except Failure as exc:
            return f'{" and ".join(names)}: {exc}', False
    text = f'{runs} runs{", all" if is_complete else ""}'
    seconds_used = time.process_time() - started
    return f'{" and ".join(names)}: {text}, {seconds_used:.0f} s', True


def _explore_triples(seed, seconds):
    with simulated_cloud.SimulatedCloud() as cloud:
        try:
            runs = explore_triples(cloud, random.Random(seed), seconds)
        except Failure as exc:
            return f'three at random: {exc}', False
    return f'three at random: {runs} runs, {seconds:.0f} s', True


def _replay(names, choices):
    with simulated_cloud.SimulatedCloud() as cloud:
        for runs in range(2):
            scenario = Scenario(cloud, names, runs)
            scenario.prepare()
            scenario.run(choices)


def in_processes(work, *arguments):
    """Run a function for each of several arguments, on all cores.

    :param work: function that returns (report, whether it passed)
    :returns: whether all calls passed
    """
    is_ok = True
    with futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for text, is_one_ok in pool.map(work, *arguments):
            print(text, flush=True)  # noqa: T201
            is_ok &= is_one_ok
    return is_ok


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
    chosen = [args.pair] if args.pair else _sampled(args.share, args.draw)
    is_ok = in_processes(_explore_pair, chosen, itertools.repeat(args.seconds))
    if args.random:
        seeds = [random.SystemRandom().random() for _ in range(os.cpu_count())]
        limits = itertools.repeat(args.random)
        is_ok &= in_processes(_explore_triples, seeds, limits)
    return not is_ok


if __name__ == '__main__':
    sys.exit(main())

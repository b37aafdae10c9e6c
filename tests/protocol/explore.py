# SPDX-License-Identifier: Apache-2.0
"""Explore the interleavings of two operations on one group.

``python -m tests.protocol.explore`` explores all pairs; ``--seconds`` limits
the time for each pair, ``--pair`` selects one, ``--replay`` repeats one run.
reduction.py tells which runs of a pair there are. ``--random`` then runs
three operations at a time, with random preemptions and one fault.
"""

import argparse
from concurrent import futures
import itertools
import logging
import os
import random
import sys
import time

from nova_groupext.conf import CONF
from tests import shares
from tests.protocol import interleaving
from tests.protocol import operations
from tests.protocol import reduction
from tests.protocol import scenario
from tests.protocol import simulated_cloud

Choice = interleaving.Choice

# Number of runs of the same three operations.
RUNS_PER_TRIPLE = 10

# Share of groups with exclusive hosts in these runs.
EXCLUSIVE_SHARE = 0.4


def explore(cloud, names, seconds=None):
    """Explore a pair of operations.

    :param seconds: limit of the CPU time, None for none
    :returns: (number of runs, whether these were all)
    :raises: scenario.Failure
    """
    end = float('inf') if seconds is None else processor_time() + seconds

    def is_over():
        return processor_time() > end

    pair = scenario.Scenario(cloud, names, is_over)
    pair.prepare()
    for _run in reduction.all_runs(pair.run_group):
        if is_over():
            return pair.runs, False
    return pair.runs, not is_over()


def processor_time():
    """Return the seconds that this process and its children have used."""
    return sum(os.times()[:4])


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
    :raises: scenario.Failure
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
        triple = scenario.Scenario(cloud, rng.sample(runnable, 3))
        triple.prepare()
        for _run in range(RUNS_PER_TRIPLE):
            triple.run(RandomSchedule(rng, 3))
        runs += triple.runs
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
    started = processor_time()
    with simulated_cloud.SimulatedCloud() as cloud:
        try:
            runs, is_complete = explore(cloud, names, seconds)
        except scenario.Failure as exc:
            return f'{" and ".join(names)}: {exc}', False
    text = f'{runs} runs{", all" if is_complete else ""}'
    seconds_used = processor_time() - started
    return f'{" and ".join(names)}: {text}, {seconds_used:.0f} s', True


def _explore_triples(seed, seconds):
    with simulated_cloud.SimulatedCloud() as cloud:
        try:
            runs = explore_triples(cloud, random.Random(seed), seconds)
        except scenario.Failure as exc:
            return f'three at random: {exc}', False
    return f'three at random: {runs} runs, {seconds:.0f} s', True


def _replay(names, choices):
    with simulated_cloud.SimulatedCloud() as cloud:
        pair = scenario.Scenario(cloud, names)
        pair.prepare()
        pair.run(choices)


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

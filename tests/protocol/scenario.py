# SPDX-License-Identifier: Apache-2.0
"""Runs of the same operations with different choices."""

import contextlib
import functools

from nova_groupext.db import database_errors
from tests.protocol import forks
from tests.protocol import interleaving
from tests.protocol import invariants
from tests.protocol import operations
from tests.protocol import reduction
from tests.services import deployment


class Failure(Exception):
    """A failed run; its text has the arguments that repeat the run."""


class Scenario:
    """Concurrent operations on one group.

    :param cloud: simulated_cloud.SimulatedCloud
    :param names: names of the operations, in the order of their start
    :param is_over: function that returns whether no more runs are wanted
    :ivar runs: number of runs
    """

    def __init__(self, cloud, names, is_over=lambda: False):
        self._cloud = cloud
        self._is_over = is_over
        self.names = names
        self.runs = 0
        self._operations = [operations.OPERATIONS[name] for name in names]
        self._known = reduction.KnownStates()
        # States from which a check of the rest has passed.
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

        A run ends early in a state that an earlier run has reached with at
        least as many choices left.

        :param choices: Choices; or a function, as for Interleaver.run()
        :returns: reduction.Run
        :raises: Failure
        """
        self.runs += 1
        run = reduction.Run(choices, [])
        self._run(run, choices, functools.partial(self._is_known, run))
        return run

    def run_group(self, group):
        """Run the operations for choices that differ in the last one.

        :param group: list of choices
        :returns: list of reduction.Run, fewer if the exploration is over
        :raises: Failure
        """
        if len(group) == 1:
            return [self.run(*group)]
        run = reduction.Run(group[0][:-1], [])
        choose = forks.Forks(group, run, self._learn, self._is_over)

        def is_known(*state):
            return choose.is_done or (
                choose.is_child and self._is_known(run, *state)
            )

        with choose.reporting():
            self._run(run, choose, is_known)
        self.runs += len(choose.runs)
        return choose.runs

    def _run(self, run, choose, is_known):
        cloud, interleaver = self._cloud, self._cloud.restart()
        run.steps = interleaver.steps
        with self._as_failure(run):
            has_ended = interleaver.run(
                [functools.partial(e.work, cloud) for e in self._operations],
                choose,
                lambda: invariants.check_step(cloud),
                is_known,
            )
            if interleaver.late_locks:
                raise invariants.Violation(
                    f'read before: {interleaver.late_locks[0]}'
                )
            if has_ended:
                run.known_from = len(run.steps)
                run.end = self._check_end(interleaver)

    def _learn(self, run):
        """Learn from a run of another process."""
        self._known.learn(run)
        self._verified.add(run.end)

    @contextlib.contextmanager
    def _as_failure(self, run):
        try:
            yield
        except (interleaving.ActorHasEnded, Failure):
            raise
        except Exception as exc:
            text = ' '.join(map(str, run.choices))
            names = ' '.join(f'"{name}"' for name in self.names)
            raise Failure(
                f'{type(exc).__name__}: {exc}\n'
                f'to repeat it: --pair {names} --replay "{text}"'
            ) from exc

    def _is_known(self, run, number, get_actors):
        return self._known.covers(
            run, number, lambda: (self._cloud.state(), get_actors())
        )

    def _check_end(self, interleaver):
        """Check how a run has ended; return its state."""
        for error in interleaver.errors():
            if not isinstance(
                error, (*deployment.REFUSALS, *database_errors.ANY)
            ):
                raise error
        invariants.check_answers(self._cloud)
        state = self._cloud.state()
        if state not in self._verified:
            self._check_rest(interleaver.late_requests)
            self._verified.add(state)
        return state

    def _check_rest(self, late_requests):
        """Check the rest, with late requests before and after the reaper."""
        if late_requests:
            with self._cloud.unchanged():
                self._cloud.deployment.reap()
                self._cloud.apply_late_requests()
                self._cloud.deployment.reap()
                invariants.check_rest(self._cloud)
        self._cloud.apply_late_requests()
        for _round in range(2):
            self._cloud.deployment.reap()
        invariants.check_rest(self._cloud)

# SPDX-License-Identifier: Apache-2.0
"""The reduced exploration reaches each state that all runs reach."""

import contextlib
import functools
import itertools
from unittest import mock

import hypothesis
from hypothesis import strategies
from oslo_db import exception as db_exc
from oslo_utils import fixture
from oslotest import base

from tests.protocol import fake_placement
from tests.protocol import forks
from tests.protocol import interleaving
from tests.protocol import reduction

Choice = interleaving.Choice

VARIABLES = ('a', 'b', 'c')

# Operations of an actor: (kind, variable); with "if unset" it ends the actor
# unless the variable was unset when it was last read.
programs = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(('read', 'write', 'if unset')),
        strategies.sampled_from(VARIABLES),
    ),
    min_size=2,
    max_size=6,
)


class Pair:
    """Two actors that read variables, and write what depends on those.

    :ivar ends: states that runs have ended in
    """

    def __init__(self, works):
        self._works = works
        self.known = reduction.KnownStates()
        self.ends = set()

    def run_group(self, group):
        """Make runs in this process."""
        runs = [reduction.Run(choices, []) for choices in group]
        # Processes run in the order of their steps.
        runs.sort(key=lambda run: run.choices and run.choices[-1].step)
        for run in runs:
            self._run(run, run.choices, functools.partial(self._covers, run))
            self._add_end(run)
        return runs

    def fork_group(self, group):
        """Make runs in processes."""
        if not group[0]:
            return self.run_group(group)
        run = reduction.Run(group[0][:-1], [])
        choose = forks.Forks(group, run, self._learn)
        with choose.reporting():
            self._run(
                run,
                choose,
                lambda *state: (
                    choose.is_done
                    or (choose.is_child and self._covers(run, *state))
                ),
            )
        return choose.runs

    def _learn(self, run):
        self.known.learn(run)
        self._add_end(run)

    def _add_end(self, run):
        if run.end is not None:
            self.ends.add(run.end)

    def _covers(self, run, number, get_state):
        return self.known.covers(run, number, get_state)

    def _run(self, run, choose, is_known):
        variables = dict.fromkeys(VARIABLES)
        interleaver = interleaving.Interleaver(fake_placement.FakePlacement())
        run.steps = interleaver.steps
        has_ended = interleaver.run(
            [
                functools.partial(self._work, interleaver, variables, *each)
                for each in enumerate(self._works)
            ],
            choose,
            is_known=lambda number, get_actors: is_known(
                number, lambda: (*variables.values(), *get_actors())
            ),
        )
        if has_ended:
            run.known_from = len(run.steps)
            run.end = tuple(variables.values())

    @staticmethod
    def _work(interleaver, variables, number, work):
        seen = {}
        for count, (kind, name) in enumerate(work):
            if kind == 'if unset':
                if seen.get(name):
                    return
                continue
            with (
                contextlib.suppress(db_exc.DBConnectionError),
                interleaver.transaction(contextlib.nullcontext, kind, None),
            ):
                if kind == 'write':
                    interleaver.statement(f'UPDATE vrt_{name}', True)
                    variables[name] = number, count, str(seen)
                else:
                    interleaver.statement(f'SELECT vrt_{name}', False)
                    interleaver.record_read(variables[name])
                    seen[name] = variables[name]


def _all_extensions(run):
    """Yield all choices that extend a run, and that an exploration permits."""
    added = [each for each in run.choices if each.step]
    if len(added) > 1:
        return
    first = run.choices[-1].step + 1 if run.choices else 1
    for number, step in enumerate(run.steps[first:], first):
        for other in step.others:
            yield (*run.choices, Choice(number, actor=other))
        if not added or not added[0].fault:
            for fault in interleaving.FAULTS.get(step.kind, ()):
                yield (*run.choices, Choice(number, fault=fault))


class TestReduction(base.BaseTestCase):
    @hypothesis.settings(deadline=None, max_examples=50)
    @hypothesis.given(programs, programs)
    @hypothesis.example(
        [('read', 'a'), ('write', 'b'), ('read', 'a'), ('write', 'a')],
        [('read', 'a'), ('if unset', 'a'), ('write', 'a'), ('write', 'a')],
    )
    def test_all_runs_reach_each_state_of_an_unreduced_exploration(
        self, one, other
    ):
        reduced, full = Pair([one, other]), Pair([one, other])
        for _run in reduction.all_runs(reduced.run_group):
            pass
        full.known.covers = lambda *_args: False
        with mock.patch.object(reduction, '_extensions', _all_extensions):
            for _run in reduction.all_runs(full.run_group):
                pass
        self.assertEqual(full.ends, reduced.ends)

    def test_runs_in_processes_are_the_same(self):
        # Actors that have read another time are in another state.
        self.useFixture(fixture.TimeFixture())
        work = [('read', 'a'), ('write', 'b'), ('if unset', 'a')]
        alone, forked = Pair([work * 2, work]), Pair([work * 2, work])

        ones = [*reduction.all_runs(alone.run_group)]
        others = [*reduction.all_runs(forked.fork_group)]

        self.assertEqual(
            {run.choices: run.known_from for run in ones},
            {run.choices: run.known_from for run in others},
        )
        self.assertEqual(alone.ends, forked.ends)

    def test_failure_in_a_process_is_raised(self):
        group = [(Choice(number, actor=0),) for number in (0, 1)]
        run = reduction.Run((), [])
        choose = forks.Forks(group, run, lambda _run: None)

        def fail():
            with choose.reporting():
                choose(0, {})
                if choose.is_child:
                    raise ValueError(run.choices)

        failure = self.assertRaises(ValueError, fail)
        self.assertEqual((group[0],), failure.args)

    def test_state_is_new_for_a_run_with_more_choices_left(self):
        states = reduction.KnownStates()
        is_known = [
            states.covers(reduction.Run(choices, []), 9, lambda: 'state')
            for choices in (
                (Choice(3, fault='late'),),
                (Choice(3, actor=1),),
                (Choice(5, actor=1),),
                (Choice(3, fault='late'),),
            )
        ]
        self.assertEqual([False, False, True, True], is_known)

    def test_independent_actors_have_no_preemption(self):
        pair = Pair([[('write', 'a')] * 3, [('write', 'b')] * 3])
        choices = [each.choices for each in reduction.all_runs(pair.run_group)]
        actors = {each.actor for each in itertools.chain(*choices)}
        self.assertEqual({None, 1}, actors)
        self.assertEqual(
            [(Choice(0, actor=1),)],
            [each for each in choices if each and each[-1].actor is not None],
        )

# SPDX-License-Identifier: Apache-2.0
"""Improvement of plans, and proofs that they are optimal."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import improve
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

SCORED = {'one': {'request': {'VCPU': 1}, 'scores': {'a1': 1, 'b1': 2}}}

# The worst plan of pairs().
SPLIT = {'v/w-0': 'a1', 'v/w-1': 'b1', 'x/w-0': 'a1', 'x/w-1': 'b1'}


def pairs():
    """Return two groups of two members each, with soft affinity."""
    policies = [policy('affinity', 'host', False)]
    return group(groups={'v': group(policies, w=2), 'x': group(policies, w=2)})


class LargeCase(base.BaseTestCase):
    """All problems are treated as large ones."""

    def setUp(self):
        super().setUp()
        self.force(SMALL_VARIABLES=0)

    def force(self, **constants):
        for name, value in constants.items():
            self.useFixture(fixtures.MockPatchObject(tuning, name, value))

    def start(self, problem, placement):
        """Return an incumbent with a plan without alternatives."""
        plan = violations.Plan(placement, {})
        self.assertEqual([], violations.find(problem, plan))
        return incumbent.Incumbent(problem, plan)

    def stages(self, best, seconds=60):
        """Return (stats, objective) of every step."""
        budget = time_budget.TimeBudget(seconds)
        greedy = best.problem.movable and squeaky_wheel.SqueakyWheel(
            best.problem
        )
        return [
            (stats, best.objective)
            for stats in improve.improve_plan(best, greedy, budget)
        ]


class TestStages(LargeCase):
    def test_small_problem_is_solved_to_optimality_first(self):
        self.force(SMALL_VARIABLES=1_000)
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs())
        found = self.stages(self.start(problem, SPLIT))
        self.assertEqual(
            ['members', 'cost', 'preference', 'tie-breaking'],
            [stats['stage'] for stats, _ in found],
        )

    def test_large_problem_is_improved_before_the_proof(self):
        two = [policy('anti-affinity', 'host', max_per_domain=2)]
        problem = builders.problem(
            racks(a=(3, 1), b=(3,)), group(two, w=3), SCORED
        )
        best = self.start(problem, {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'a2'})
        found = self.stages(best)
        stages = [stats['stage'] for stats, _ in found]
        self.assertIn('preference', stages)
        self.assertEqual(5, best.objective.preference)
        self.assertTrue(
            {'greedy', 'neighbourhood'}.issuperset(
                stages[: stages.index('members')]
            )
        )

    def test_search_ends_when_no_plan_can_be_better(self):
        problem = builders.problem(racks(a=(3, 1), b=(3,)), group(w=3), SCORED)
        best = self.start(problem, {f'w-{n}': 'a1' for n in range(3)})

        *_, (last, _rank) = self.stages(best)

        self.assertEqual(6, best.objective.preference)
        self.assertIn(last['stage'], ('greedy', 'neighbourhood'))
        self.assertFalse(last['cut_short'])

    def test_no_step_makes_the_plan_worse(self):
        self.force(MAX_IDLE_STEPS=8)
        problem = builders.problem(
            racks(a=(2, 3), b=(2, 1), c=(4,)),
            group(
                [
                    policy('spread', 'rack', False, max_skew=0),
                    policy('anti-affinity', 'host', False),
                ],
                w={'class': 'one', 'count': 7, 'min_count': 2},
            ),
            SCORED,
        )
        best = self.start(problem, {'w-0': 'a1', 'w-1': 'a1'})
        ranks = [best.objective, *(rank for _, rank in self.stages(best))]
        self.assertEqual(sorted(ranks), ranks)
        self.assertEqual(7, ranks[-1][0])
        self.assertEqual([], violations.find(problem, best.plan))

    def test_steps_before_the_proof_are_cut_short(self):
        pair = pairs()
        pair['policies'] = [policy('anti-affinity', 'host', max_per_domain=2)]
        problem = builders.problem(racks(a=(2,), b=(4,)), pair, SCORED)
        best = self.start(problem, SPLIT)
        found = [stats for stats, _ in self.stages(best)]
        early = [s for s in found if s['stage'] in ('greedy', 'neighbourhood')]
        self.assertNotEqual([], early)
        self.assertTrue(all(stats['cut_short'] for stats in early))
        self.assertFalse(found[-1]['cut_short'])

    def test_member_that_cannot_stay_is_no_change_to_avoid(self):
        classes = {'one': {'request': {'VCPU': 1}, 'hosts': ['a1']}}
        problem = builders.problem(
            *(racks(a=(2,), b=(2,)), group(w=2), classes),
            current={'w-0': 'b1', 'w-1': 'a1'},
            objective='changes',
        )
        best = self.start(problem, {'w-0': 'a1', 'w-1': 'a1'})
        found = self.stages(best)
        self.assertEqual([{'cut_short': False}], [s for s, _ in found])

    def test_perfect_plan_is_kept(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs())
        best = self.start(
            problem,
            {'v/w-0': 'b1', 'v/w-1': 'b1', 'x/w-0': 'a1', 'x/w-1': 'a1'},
        )
        found = self.stages(best)
        self.assertEqual([{'cut_short': False}], [s for s, _ in found])
        self.assertEqual('b1', best.plan.placement['v/w-0'])

    def test_scores_improve_where_costs_are_zero(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2), SCORED)
        best = self.start(problem, {'w-0': 'a1', 'w-1': 'a1'})
        self.assertEqual(4, self.stages(best)[-1][1].preference)

    def test_pinned_members_alone_need_no_construction(self):
        problem = builders.problem(
            racks(a=(0,)), group(w=1), pinned={'w-0': 'a1'}
        )
        best = self.start(problem, {'w-0': 'a1'})
        self.assertFalse(self.stages(best)[-1][0]['cut_short'])

    def test_program_over_all_hosts_does_not_run_if_too_large(self):
        self.force(MAX_EXACT_VARIABLES=-1)
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs(), SCORED)
        best = self.start(problem, SPLIT)
        stages = {stats['stage'] for stats, _ in self.stages(best)}
        self.assertLessEqual(stages, {'greedy', 'neighbourhood'})
        self.assertEqual(0, best.cost)

    def test_without_time_the_plan_is_kept(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs(), SCORED)
        best = self.start(problem, SPLIT)
        known = best.plan
        # One construction ends before its budget is checked.
        self.force(MORE_CONSTRUCTIONS=0)
        self.assertEqual([], self.stages(best, seconds=0))
        self.assertIs(known, best.plan)


class TestCutShort(LargeCase):
    """Answers with plans that may not be optimal."""

    def setUp(self):
        super().setUp()
        # Nothing improves on the first plan, and nothing proves it.
        self.force(MORE_CONSTRUCTIONS=0, MAX_EXACT_VARIABLES=-1)
        self.force(MAX_IDLE_STEPS=0)

    def test_only_answer_is_cut_short_if_unproved(self):
        problem = builders.problem(racks(a=(3, 1)), pairs())
        (answer,) = stages.search(problem)
        self.assertTrue(answer.stats['cut_short'])
        self.assertEqual((1, 0), (answer.cost['soft'], answer.cost['bound']))

    def test_only_answer_is_cut_short_if_scores_may_improve(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2), SCORED)
        (answer,) = stages.search(problem)
        self.assertTrue(answer.stats['cut_short'])

    def test_perfect_plan_is_not_cut_short(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2))
        *_, last = stages.search(problem)
        self.assertEqual('greedy', last.stats['stage'])
        self.assertFalse(last.stats['cut_short'])

    def test_small_problem_without_time_for_a_proof_is_cut_short(self):
        self.force(SMALL_VARIABLES=1_000)
        *_, answer = stages.search(
            builders.problem(racks(a=(3, 1)), pairs(), time_limit=0)
        )
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertLess(answer.cost['bound'], answer.cost['soft'])


class TestSlices(LargeCase):
    """Answers with plans that depend on the time budget."""

    def last(self, *args, **others):
        *_, answer = stages.search(builders.problem(*args, **others))
        return answer

    def test_neighbourhoods_without_time_cut_the_answer_short(self):
        self.force(MAX_TIE_BREAKING=0)
        for seconds, is_short in ((60, False), (0, True)):
            self.force(NEIGHBOURHOOD_SECONDS=seconds)
            answer = self.last(racks(a=(3,), b=(1,)), pairs())
            self.assertEqual('preference', answer.stats['stage'])
            self.assertEqual(answer.cost['bound'], answer.cost['soft'])
            self.assertEqual(is_short, answer.stats['cut_short'])

    def test_answer_after_tie_breaking_is_not_cut_short(self):
        self.force(NEIGHBOURHOOD_SECONDS=0)
        answer = self.last(racks(a=(3,), b=(1,)), pairs())
        self.assertEqual('tie-breaking', answer.stats['stage'])
        self.assertFalse(answer.stats['cut_short'])

    def test_expired_budget_cuts_the_answer_short(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        budget = time_budget.TimeBudget(60)
        for is_short in (False, True):
            if is_short:
                budget.expire()
            best = self.start(problem, {'w-0': 'a1'})
            greedy = squeaky_wheel.SqueakyWheel(problem)
            (stats,) = improve.improve_plan(best, greedy, budget)
            self.assertEqual({'cut_short': is_short}, stats)


class TestTime(LargeCase):
    """Problems that take too long."""

    def test_incumbent_is_the_answer_at_the_time_limit(self):
        answer = stages.solve(builders.slow_problem(time_limit=0.5))
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertLess(answer.cost['bound'], answer.cost['soft'])

    def test_first_plan_is_an_answer_without_time(self):
        answers = list(stages.search(builders.slow_problem(time_limit=0)))
        self.assertEqual({'placed'}, {answer.status for answer in answers})
        self.assertTrue(answers[-1].stats['cut_short'])

    def test_problem_without_a_plan_in_time_is_not_refused(self):
        for limit in (0, 0.3):
            problem = builders.hard_problem(time_limit=limit)
            answer = stages.solve(problem)
            self.assertNotEqual('refused', answer.status)
            if answer.status == 'undecided':
                self.assertTrue(answer.stats['cut_short'])

    def test_no_answer_is_worse_than_the_one_before(self):
        problem = builders.slow_problem(time_limit=0.5)
        costs = [a.cost['soft'] for a in stages.search(problem)]
        self.assertEqual(sorted(costs, reverse=True), costs)

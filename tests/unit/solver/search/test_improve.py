# SPDX-License-Identifier: Apache-2.0
"""Does a plan only ever get better, and is it said when it is the best?"""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import tie_breaking
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import improve
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.search import neighbourhood
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

SCORED = {'one': {'request': {'VCPU': 1}, 'scores': {'a1': 1, 'b1': 2}}}

# The worst plan of pairs().
SPLIT = {'v/w-0': 'a1', 'v/w-1': 'b1', 'x/w-0': 'a1', 'x/w-1': 'b1'}


def pairs():
    """Two groups of two whose members should be together."""
    ties = [policy('affinity', 'host', False)]
    return group(groups={'v': group(ties, w=2), 'x': group(ties, w=2)})


class LargeCase(base.BaseTestCase):
    """All problems go the way of large ones."""

    def setUp(self):
        super().setUp()
        self.force(feasible, SMALL=0)

    def force(self, module, **constants):
        for name, value in constants.items():
            self.useFixture(fixtures.MockPatchObject(module, name, value))

    def start(self, problem, placement):
        """A Best that begins with a plan of no alternatives."""
        plan = violations.Plan(placement, {})
        self.assertEqual([], violations.find(problem, plan))
        return incumbent.Incumbent(problem, plan)

    def stages(self, best, seconds=60):
        """(stats, rank) of every step."""
        budget = time_budget.TimeBudget(seconds)
        attempts = best.problem.movable and squeaky_wheel.SqueakyWheel(
            best.problem
        )
        return [
            (stats, best.rank)
            for stats in improve.stages(best, attempts, budget)
        ]


class TestStages(LargeCase):
    def test_small_problems_go_straight_to_the_optimum(self):
        self.force(feasible, SMALL=1_000)
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs())
        found = self.stages(self.start(problem, SPLIT))
        self.assertEqual(
            ['members', 'cost', 'preference', 'ties'],
            [stats['stage'] for stats, _ in found],
        )

    def test_large_ones_are_improved_before_the_proof(self):
        problem = builders.problem(racks(a=(3, 1), b=(3,)), group(w=3), SCORED)
        best = self.start(problem, {f'w-{n}': 'a1' for n in range(3)})
        found = self.stages(best)
        stages = [stats['stage'] for stats, _ in found]
        self.assertIn('preference', stages)
        self.assertEqual(6, best.rank[2])
        self.assertTrue(
            {'greedy', 'neighbours'}.issuperset(
                stages[: stages.index('members')]
            )
        )

    def test_no_step_makes_it_worse(self):
        self.force(neighbourhood, _PATIENCE=8)
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
        ranks = [best.rank, *(rank for _, rank in self.stages(best))]
        self.assertEqual(sorted(ranks), ranks)
        self.assertEqual(7, ranks[-1][0])
        self.assertEqual([], violations.find(problem, best.plan))

    def test_every_step_says_that_it_is_not_the_last_word(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs(), SCORED)
        best = self.start(problem, SPLIT)
        found = [stats for stats, _ in self.stages(best)]
        early = [s for s in found if s['stage'] in ('greedy', 'neighbours')]
        self.assertNotEqual([], early)
        self.assertTrue(all(stats['cut_short'] for stats in early))
        self.assertFalse(found[-1]['cut_short'])

    def test_a_plan_without_a_flaw_is_left_alone(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs())
        best = self.start(
            problem,
            {'v/w-0': 'b1', 'v/w-1': 'b1', 'x/w-0': 'a1', 'x/w-1': 'a1'},
        )
        found = self.stages(best)
        self.assertEqual([{'cut_short': False}], [s for s, _ in found])
        self.assertEqual('b1', best.plan.placement['v/w-0'])

    def test_scores_can_be_raised_where_nothing_costs(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2), SCORED)
        best = self.start(problem, {'w-0': 'a1', 'w-1': 'a1'})
        self.assertEqual(4, self.stages(best)[-1][1][2])

    def test_pinned_members_alone_leave_nothing_to_attempt(self):
        problem = builders.problem(
            racks(a=(0,)), group(w=1), pinned={'w-0': 'a1'}
        )
        best = self.start(problem, {'w-0': 'a1'})
        self.assertFalse(self.stages(best)[-1][0]['cut_short'])

    def test_too_large_for_the_programme_with_all_hosts(self):
        self.force(improve, _LARGE=-1)
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs(), SCORED)
        best = self.start(problem, SPLIT)
        stages = {stats['stage'] for stats, _ in self.stages(best)}
        self.assertLessEqual(stages, {'greedy', 'neighbours'})
        self.assertEqual(0, best.cost)

    def test_no_time_changes_nothing(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), pairs(), SCORED)
        best = self.start(problem, SPLIT)
        known = best.plan
        # One attempt is as quick as asking for the time.
        self.force(improve, _ATTEMPTS=0)
        self.assertEqual([], self.stages(best, seconds=0))
        self.assertIs(known, best.plan)


class TestCutShort(LargeCase):
    """Is it said that a plan may not be the best?"""

    def setUp(self):
        super().setUp()
        # Nothing improves on the first plan, and nothing proves it.
        self.force(improve, _ATTEMPTS=0, _LARGE=-1)
        self.force(neighbourhood, _PATIENCE=0)

    def test_by_the_first_answer_if_no_better_one_follows(self):
        problem = builders.problem(racks(a=(3, 1)), pairs())
        (answer,) = stages.search(problem)
        self.assertTrue(answer.stats['cut_short'])
        self.assertEqual((1, 0), (answer.cost['soft'], answer.cost['bound']))

    def test_by_the_first_answer_while_scores_may_be_raised(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2), SCORED)
        (answer,) = stages.search(problem)
        self.assertTrue(answer.stats['cut_short'])

    def test_not_of_a_plan_without_a_flaw(self):
        problem = builders.problem(racks(a=(2,), b=(2,)), group(w=2))
        *_, last = stages.search(problem)
        self.assertEqual('greedy', last.stats['stage'])
        self.assertFalse(last.stats['cut_short'])

    def test_by_a_small_problem_that_has_no_time_for_a_proof(self):
        self.force(feasible, SMALL=1_000)
        *_, answer = stages.search(
            builders.problem(racks(a=(3, 1)), pairs(), time_limit=0)
        )
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertLess(answer.cost['bound'], answer.cost['soft'])


class TestSlices(LargeCase):
    """Is it said that the budget has had a say in which plan it is?"""

    def last(self, *args, **others):
        *_, answer = stages.search(builders.problem(*args, **others))
        return answer

    def test_by_neighbours_that_had_no_time(self):
        self.force(tie_breaking, LIMIT=0)
        for seconds, is_short in ((60, False), (0, True)):
            self.force(neighbourhood, _SLICE=seconds)
            answer = self.last(racks(a=(3,), b=(1,)), pairs())
            self.assertEqual('preference', answer.stats['stage'])
            self.assertEqual(answer.cost['bound'], answer.cost['soft'])
            self.assertEqual(is_short, answer.stats['cut_short'])

    def test_not_where_equal_plans_were_told_apart(self):
        self.force(neighbourhood, _SLICE=0)
        answer = self.last(racks(a=(3,), b=(1,)), pairs())
        self.assertEqual('ties', answer.stats['stage'])
        self.assertFalse(answer.stats['cut_short'])

    def test_by_what_came_before(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        budget = time_budget.TimeBudget(60)
        for is_short in (False, True):
            if is_short:
                budget.expire()
            best = self.start(problem, {'w-0': 'a1'})
            attempts = squeaky_wheel.SqueakyWheel(problem)
            (stats,) = improve.stages(best, attempts, budget)
            self.assertEqual({'cut_short': is_short}, stats)


class TestTime(LargeCase):
    """Problems that take too long."""

    def test_the_best_so_far_at_the_limit(self):
        answer = stages.solve(builders.slow_problem(time_limit=0.5))
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertLess(answer.cost['bound'], answer.cost['soft'])

    def test_the_first_plan_is_better_than_none(self):
        answers = list(stages.search(builders.slow_problem(time_limit=0)))
        self.assertEqual({'placed'}, {answer.status for answer in answers})
        self.assertTrue(answers[-1].stats['cut_short'])

    def test_no_plan_in_time_is_no_refusal(self):
        for limit in (0, 0.3):
            problem = builders.hard_problem(time_limit=limit)
            answer = stages.solve(problem)
            self.assertNotEqual('refused', answer.status)
            if answer.status == 'undecided':
                self.assertTrue(answer.stats['cut_short'])

    def test_every_answer_is_at_least_as_good_as_the_one_before(self):
        problem = builders.slow_problem(time_limit=0.5)
        costs = [a.cost['soft'] for a in stages.search(problem)]
        self.assertEqual(sorted(costs, reverse=True), costs)

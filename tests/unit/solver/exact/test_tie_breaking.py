# SPDX-License-Identifier: Apache-2.0
"""Canonical tie-breaking: the smallest host ids of equal plans."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.exact import tie_breaking
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestBreakTies(base.BaseTestCase):
    def break_ties(self, problem, start=None):
        """Return the optimum after tie-breaking, started from a plan."""
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        if start is not None:
            exact.start_from(violations.Plan(*start))
        exact.place_members()
        exact.minimise_cost()
        exact.maximise_preference()
        objective = exact.incumbent.objective
        tie_breaking.break_ties(exact)
        self.assertEqual(objective, exact.incumbent.objective)
        self.assertEqual([], violations.find(problem, exact.plan))
        self.assertTrue(exact.is_proved)
        return exact.plan

    def test_the_first_member_takes_the_first_host(self):
        problem = builders.problem(racks(a=(1, 2, 2)), group(w=3, x=1))
        plan = self.break_ties(
            problem,
            ({'w-0': 'a3', 'w-1': 'a3', 'w-2': 'a2', 'x-0': 'a2'}, {}),
        )
        self.assertEqual(
            {'w-0': 'a1', 'w-1': 'a2', 'w-2': 'a2', 'x-0': 'a3'},
            plan.placement,
        )

    def test_first_member_takes_precedence_over_the_second(self):
        problem = builders.problem(
            racks(a=(2, 1)),
            group(a={'class': 'two'}, b={'class': 'one'}),
            {'two': {'request': {'VCPU': 1}}},
        )
        plan = self.break_ties(problem, ({'a': 'a2', 'b': 'a1'}, {}))
        self.assertEqual({'a': 'a1', 'b': 'a1'}, plan.placement)

    def test_soft_cost_is_kept(self):
        problem = builders.problem(
            racks(a=(1,), b=(3,), c=(3,)),
            group([policy('affinity', 'rack', False)], w=3),
        )
        start = dict.fromkeys(('w-0', 'w-1', 'w-2'), 'c1')
        plan = self.break_ties(problem, (start, {}))
        self.assertEqual({'b1'}, set(plan.placement.values()))

    def test_preference_is_kept(self):
        scores = {'a1': 1, 'b1': 2, 'c1': 2}
        problem = builders.problem(
            racks(a=(3,), b=(1,), c=(3,)),
            group(w=2),
            {'one': {'request': {'VCPU': 1}, 'scores': scores}},
        )
        plan = self.break_ties(problem)
        self.assertEqual({'w-0': 'b1', 'w-1': 'c1'}, plan.placement)

    def test_earlier_member_is_placed_rather_than_a_later_one(self):
        optional = {'class': 'one', 'count': 1, 'min_count': 0}
        problem = builders.problem(
            racks(a=(1,)), group(v=optional, w=optional)
        )
        plan = self.break_ties(problem, ({'w-0': 'a1'}, {}))
        self.assertEqual({'v-0': 'a1'}, plan.placement)

    def test_pinned_members_stay(self):
        problem = builders.problem(
            racks(a=(1, 1)), group(w=2), pinned={'w-0': 'a2'}
        )
        plan = self.break_ties(problem)
        self.assertEqual({'w-0': 'a2', 'w-1': 'a1'}, plan.placement)

    def test_members_are_ordered_by_number(self):
        hosts = [builders.host(f'h{n:02}', cpu=1) for n in range(12)]
        plan = self.break_ties(builders.problem(hosts, group(w=12)))
        self.assertEqual(
            {f'w-{n}': f'h{n:02}' for n in range(12)}, plan.placement
        )

    def test_ties_are_not_broken_without_time(self):
        problem = builders.slow_problem()
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.start_from(self.some_plan(problem))
        exact.extend_time(time_budget.TimeBudget(0))
        plan = exact.plan
        tie_breaking.break_ties(exact)
        self.assertFalse(exact.is_proved)
        self.assertEqual(
            violations.objective(problem, plan)[0],
            exact.incumbent.objective.members,
        )

    @staticmethod
    def some_plan(problem):
        from nova_groupext.solver.construct import squeaky_wheel

        return squeaky_wheel.SqueakyWheel(problem).run_iteration()


class TestIsAffordable(base.BaseTestCase):
    def test_ties_are_broken_only_in_small_problems(self):
        problem = builders.problem(racks(a=(2, 2)), group(w=3))
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        self.assertTrue(tie_breaking.is_affordable(exact))
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'MAX_TIE_BREAKING', 2)
        )
        self.assertFalse(tie_breaking.is_affordable(exact))

# SPDX-License-Identifier: Apache-2.0
"""Are the smallest host ids taken between equally good plans?"""

import fixtures
from oslotest import base

from nova_groupext.solver.exact import objectives
from nova_groupext.solver.exact import tie_breaking
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestSettle(base.BaseTestCase):
    def settle(self, problem, start=None):
        """The optimum with its ties settled, from some optimum."""
        exact = objectives.Exact(problem, time_budget.TimeBudget(60))
        if start is not None:
            exact.start_from(violations.Plan(*start))
        exact.place_members()
        exact.minimise_cost()
        exact.maximise_preference()
        rank = exact.rank
        tie_breaking.break_ties(exact)
        self.assertEqual(rank, exact.rank)
        self.assertEqual([], violations.find(problem, exact.plan))
        self.assertTrue(exact.is_proved)
        return exact.plan

    def test_the_first_member_takes_the_first_host(self):
        problem = builders.problem(racks(a=(1, 2, 2)), group(w=3, x=1))
        plan = self.settle(
            problem,
            ({'w-0': 'a3', 'w-1': 'a3', 'w-2': 'a2', 'x-0': 'a2'}, {}),
        )
        self.assertEqual(
            {'w-0': 'a1', 'w-1': 'a2', 'w-2': 'a2', 'x-0': 'a3'},
            plan.placement,
        )

    def test_the_second_has_no_say_before_the_first(self):
        problem = builders.problem(
            racks(a=(2, 1)),
            group(a={'class': 'two'}, b={'class': 'one'}),
            {'two': {'request': {'VCPU': 1}}},
        )
        plan = self.settle(problem, ({'a': 'a2', 'b': 'a1'}, {}))
        self.assertEqual({'a': 'a1', 'b': 'a1'}, plan.placement)

    def test_policies_and_costs_stay_as_they_are(self):
        problem = builders.problem(
            racks(a=(1,), b=(3,), c=(3,)),
            group([policy('affinity', 'rack', False)], w=3),
        )
        start = dict.fromkeys(('w-0', 'w-1', 'w-2'), 'c1')
        plan = self.settle(problem, (start, {}))
        self.assertEqual({'b1'}, set(plan.placement.values()))

    def test_scores_stay_as_they_are(self):
        scores = {'a1': 1, 'b1': 2, 'c1': 2}
        problem = builders.problem(
            racks(a=(3,), b=(1,), c=(3,)),
            group(w=2),
            {'one': {'request': {'VCPU': 1}, 'scores': scores}},
        )
        plan = self.settle(problem)
        self.assertEqual({'w-0': 'b1', 'w-1': 'c1'}, plan.placement)

    def test_who_is_left_out_counts_as_the_latest(self):
        some = {'class': 'one', 'count': 1, 'min_count': 0}
        problem = builders.problem(racks(a=(1,)), group(v=some, w=some))
        plan = self.settle(problem, ({'w-0': 'a1'}, {}))
        self.assertEqual({'v-0': 'a1'}, plan.placement)

    def test_pinned_members_stay(self):
        problem = builders.problem(
            racks(a=(1, 1)), group(w=2), pinned={'w-0': 'a2'}
        )
        plan = self.settle(problem)
        self.assertEqual({'w-0': 'a2', 'w-1': 'a1'}, plan.placement)

    def test_numbers_are_numbers(self):
        hosts = [builders.host(f'h{n:02}', cpu=1) for n in range(12)]
        plan = self.settle(builders.problem(hosts, group(w=12)))
        self.assertEqual(
            {f'w-{n}': f'h{n:02}' for n in range(12)}, plan.placement
        )

    def test_without_time_it_is_not_settled(self):
        problem = builders.slow_problem()
        exact = objectives.Exact(problem, time_budget.TimeBudget(60))
        exact.start_from(self.some_plan(problem))
        exact.go_on(time_budget.TimeBudget(0))
        known = exact.plan
        tie_breaking.break_ties(exact)
        self.assertFalse(exact.is_proved)
        self.assertEqual(
            violations.objective(problem, known)[0], exact.rank[0]
        )

    @staticmethod
    def some_plan(problem):
        from nova_groupext.solver.construct import squeaky_wheel

        return squeaky_wheel.SqueakyWheel(problem).attempt()


class TestIsWorthIt(base.BaseTestCase):
    def test_of_small_problems_only(self):
        problem = builders.problem(racks(a=(2, 2)), group(w=3))
        exact = objectives.Exact(problem, time_budget.TimeBudget(60))
        self.assertTrue(tie_breaking.is_worth_it(exact))
        self.useFixture(fixtures.MockPatchObject(tie_breaking, 'LIMIT', 2))
        self.assertFalse(tie_breaking.is_worth_it(exact))

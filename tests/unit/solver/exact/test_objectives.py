# SPDX-License-Identifier: Apache-2.0
"""Is every objective brought to its optimum, one after the other?"""

import fractions

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.search import improve
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def some(count, least=0):
    return {'class': 'one', 'count': count, 'min_count': least}


class ExactCase(base.BaseTestCase):
    def exact(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        return objectives.Exact(problem, time_budget.TimeBudget(seconds))


class TestStartFrom(ExactCase):
    def test_the_first_plan_is_kept_until_there_is_a_better_one(self):
        exact = self.exact(racks(a=(2, 2)), group(w=2))
        plan = violations.Plan({'w-0': 'a2', 'w-1': 'a2'}, {})
        exact.start_from(plan)
        exact.place_members()
        exact.minimise_cost()
        exact.maximise_preference()
        self.assertEqual(plan, exact.plan)
        self.assertTrue(exact.is_proved)

    def test_its_ways_are_known(self):
        classes = {
            'gpu': {
                'request': {},
                'alternatives': {'a1': [{'GPU0': 1}, {'GPU1': 1}]},
            }
        }
        hosts = racks(a=(1,))
        hosts[0]['free'] = {'GPU0': 1, 'GPU1': 1}
        exact = self.exact(hosts, group(g={'class': 'gpu'}), classes)
        exact.start_from(violations.Plan({'g': 'a1'}, {'g': 1}))
        ((seat, count),) = exact.counts.items()
        self.assertEqual((1, 1), (seat.place.way, count))

    def test_a_worse_plan_is_no_hindrance(self):
        exact = self.exact(
            racks(a=(1,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=some(2)),
        )
        exact.start_from(violations.Plan({}, {}))
        self.assertIs(milp.Status.OPTIMAL, exact.place_members())
        exact.minimise_cost()
        self.assertEqual((2, 0, 0), exact.rank)


class TestFindAny(ExactCase):
    def test_a_plan(self):
        exact = self.exact(racks(a=(1, 1)), group(w=2))
        self.assertIs(milp.Status.OPTIMAL, exact.find_any().status)
        self.assertEqual(2, len(exact.plan.placement))

    def test_none(self):
        exact = self.exact(racks(a=(1,)), group(w=2))
        self.assertIs(milp.Status.INFEASIBLE, exact.find_any().status)
        self.assertIsNone(exact.plan)

    def test_amounts_beyond_what_the_solver_can_tell(self):
        huge = 2**63 - 1
        classes = {
            'most': {'request': {'X': huge - 1}},
            'bit': {'request': {'X': 1}},
        }
        for bits, status in (
            (1, milp.Status.OPTIMAL),
            (2, milp.Status.INFEASIBLE),
        ):
            exact = self.exact(
                [{'id': 'h', 'free': {'X': huge}}],
                group(m={'class': 'most'}, b={'class': 'bit', 'count': bits}),
                classes,
            )
            self.assertIs(status, exact.find_any().status)


class TestBound(ExactCase):
    def test_is_the_cost_where_that_is_proved(self):
        exact = self.exact(
            racks(a=(1,), b=(1,), c=(1,)),
            group([policy('affinity', 'rack', False, weight=0.1)], w=3),
        )
        exact.place_members()
        exact.minimise_cost()
        self.assertEqual(fractions.Fraction('0.2'), exact.bound)
        self.assertEqual(-exact.bound, exact.rank[1])

    def test_stays_below_where_time_ran_out(self):
        problem = builders.slow_problem()
        exact = objectives.Exact(problem, time_budget.TimeBudget(60))
        exact.start_from(squeaky_wheel.SqueakyWheel(problem).attempt())
        exact.go_on(time_budget.TimeBudget(0.4))
        for step in (exact.place_members, exact.minimise_cost):
            improve._do(step, exact)
        self.assertFalse(exact.is_proved)
        self.assertLess(exact.bound, -exact.rank[1])
        self.assertGreaterEqual(exact.bound, 0)

    def test_the_time_is_not_used_up_by_the_number_of_members(self):
        problem = builders.problem(
            racks(a=(3,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=some(6, 1)),
        )
        exact = objectives.Exact(problem, time_budget.TimeBudget(60))
        exact.place_members()
        self.assertEqual(5, exact.rank[0])
        self.assertGreater(exact.budget.left(), 30)

    def test_fewer_members_never_pay_for_less_cost(self):
        exact = self.exact(
            racks(a=(1,), b=(1,)),
            group([policy('affinity', 'rack', False)], w=some(2)),
        )
        exact.place_members()
        exact.minimise_cost()
        self.assertEqual((2, -1, 0), exact.rank)


class TestCrowds(ExactCase):
    def test_what_slips_through_rounding_is_forbidden(self):
        # In such units the small one asks for nothing.
        self.useFixture(
            fixtures.MockPatchObject(
                objectives.variables, '_LARGEST_AMOUNT', 1e-6
            )
        )
        classes = {
            'big': {'request': {'X': 10**6 - 1}},
            'bit': {'request': {'X': 2}},
        }
        exact = self.exact(
            [
                {'id': 'h1', 'free': {'X': 10**6}},
                {'id': 'h2', 'free': {'X': 1}},
            ],
            group(b=some(1) | {'class': 'big'}, c=some(1) | {'class': 'bit'}),
            classes,
        )
        exact.place_members()
        self.assertEqual(1, exact.rank[0])
        self.assertEqual([], violations.find(exact.problem, exact.plan))

# SPDX-License-Identifier: Apache-2.0
"""Objectives, optimised one after another."""

import fractions

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.exact import variables
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import improve
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def optional(count, least=0):
    return {'class': 'one', 'count': count, 'min_count': least}


class ExactCase(base.BaseTestCase):
    def exact(self, *args, seconds=60, **others):
        problem = builders.problem(*args, **others)
        return objectives.ExactSolver(problem, time_budget.TimeBudget(seconds))


class TestStartFrom(ExactCase):
    def test_first_plan_is_kept_if_no_plan_is_better(self):
        exact = self.exact(racks(a=(2, 2)), group(w=2))
        plan = violations.Plan({'w-0': 'a2', 'w-1': 'a2'}, {})
        exact.start_from(plan)
        exact.place_members()
        exact.minimise_cost()
        exact.maximise_preference()
        self.assertEqual(plan, exact.plan)
        self.assertTrue(exact.is_proved)

    def test_alternatives_of_the_first_plan_are_kept(self):
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
        [variable] = exact.incumbent.counts.nonzero()[0]
        program = exact.model.variables
        self.assertEqual(1, program.options[variable])
        self.assertEqual(1, exact.incumbent.counts[variable])

    def test_poor_first_plan_is_improved(self):
        exact = self.exact(
            racks(a=(1,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=optional(2)),
        )
        exact.start_from(violations.Plan({}, {}))
        self.assertIs(milp.Status.OPTIMAL, exact.place_members())
        exact.minimise_cost()
        self.assertEqual((2, 0, 0, 0), exact.incumbent.objective)


class TestFindAny(ExactCase):
    def test_feasible_problem_has_a_plan(self):
        exact = self.exact(racks(a=(1, 1)), group(w=2))
        self.assertIs(milp.Status.OPTIMAL, exact.find_any().status)
        self.assertEqual(2, len(exact.plan.placement))

    def test_infeasible_problem_has_no_plan(self):
        exact = self.exact(racks(a=(1,)), group(w=2))
        self.assertIs(milp.Status.INFEASIBLE, exact.find_any().status)
        self.assertIsNone(exact.plan)

    def test_there_is_no_incumbent_before_the_first_plan(self):
        exact = self.exact(racks(a=(1,)), group(w=1))
        self.assertRaises(RuntimeError, lambda: exact.incumbent)

    def test_amounts_beyond_the_precision_of_the_solver_are_exact(self):
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
    def test_bound_equals_a_proved_cost(self):
        exact = self.exact(
            racks(a=(1,), b=(1,), c=(1,)),
            group([policy('affinity', 'rack', False, weight=0.1)], w=3),
        )
        exact.place_members()
        exact.minimise_cost()
        self.assertEqual(fractions.Fraction('0.2'), exact.bound)
        self.assertEqual(-exact.bound, exact.incumbent.objective.saving)

    def test_bound_is_below_an_unproved_cost(self):
        problem = builders.slow_problem()
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.start_from(squeaky_wheel.SqueakyWheel(problem).run_iteration())
        exact.extend_time(time_budget.TimeBudget(0.4))
        for step in (exact.place_members, exact.minimise_cost):
            improve._run_step(step, exact)
        self.assertFalse(exact.is_proved)
        self.assertLess(exact.bound, -exact.incumbent.objective.saving)
        self.assertGreaterEqual(exact.bound, 0)

    def test_placing_members_does_not_use_up_the_time(self):
        problem = builders.problem(
            racks(a=(3,), b=(2,)),
            group([policy('affinity', 'rack', False)], w=optional(6, 1)),
        )
        exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
        exact.place_members()
        self.assertEqual(5, exact.incumbent.objective.members)
        self.assertGreater(exact.budget.remaining(), 30)

    def test_members_are_not_traded_for_cost(self):
        exact = self.exact(
            racks(a=(1,), b=(1,)),
            group([policy('affinity', 'rack', False)], w=optional(2)),
        )
        exact.place_members()
        exact.minimise_cost()
        self.assertEqual((2, 0, -1, 0), exact.incumbent.objective)


class TestNoGoodCuts(ExactCase):
    def test_plan_made_possible_by_rounding_is_cut_off(self):
        # In such units the request of the small member rounds to nothing.
        self.useFixture(
            fixtures.MockPatchObject(variables, '_MAX_AMOUNT', 1e-6)
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
            group(
                b=optional(1) | {'class': 'big'},
                c=optional(1) | {'class': 'bit'},
            ),
            classes,
        )
        exact.place_members()
        self.assertEqual(1, exact.incumbent.objective.members)
        self.assertEqual([], violations.find(exact.problem, exact.plan))

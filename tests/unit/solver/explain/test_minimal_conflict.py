# SPDX-License-Identifier: Apache-2.0
"""Minimal conflicts between assumptions."""

from unittest import mock

from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import time_budget
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def find(*args, seconds=60, **kwargs):
    problem = builders.problem(*args, **kwargs)
    budget = time_budget.TimeBudget(seconds)
    oracle = feasibility_oracle.Oracle(problem, budget)
    return minimal_conflict.find(oracle, assumptions.of_problem(problem))


def names(conflict):
    return [
        each.path if len(each) == 1 else each.type for each in conflict.assumed
    ]


class TestQuickXplain(base.BaseTestCase):
    def quickxplain(self, assumed, *conflicts):
        self.queries = 0

        def is_infeasible(subset):
            self.queries += 1
            return any(conflict <= set(subset) for conflict in conflicts)

        return minimal_conflict.quickxplain(is_infeasible, assumed)

    def test_result_is_a_minimal_conflict(self):
        for conflict in ({0}, {31}, {3, 17}, {0, 1, 2}, {5, 6, 20, 31}):
            found = self.quickxplain(list(range(32)), conflict)
            self.assertEqual(conflict, set(found))

    def test_small_conflict_takes_few_queries(self):
        self.quickxplain(list(range(1024)), {100, 900})
        self.assertLess(self.queries, 50)

    def test_conflict_of_the_first_assumptions_is_found(self):
        self.assertEqual([1, 2], self.quickxplain([1, 2, 3], {1, 2}, {2, 3}))

    def test_undecided_queries_leave_a_conflict(self):
        def is_infeasible(assumed):
            return 4 in assumed and len(assumed) > 5

        found = minimal_conflict.quickxplain(is_infeasible, list(range(10)))
        self.assertIn(4, found)


class TestFind(base.BaseTestCase):
    def test_conflict_has_a_policy_and_its_members(self):
        found = find(
            racks(a=(2,), b=(2,)),
            group(groups={'g': group([policy('affinity', 'rack')], w=3)}, x=1),
        )
        self.assertEqual(['affinity', 'g/w'], names(found))
        self.assertTrue(found.is_minimal)

    def test_conflict_of_capacity_has_only_members(self):
        found = find(
            racks(a=(2,), b=(2,)),
            group([policy('affinity', 'rack')], w=3, x=2),
        )
        self.assertEqual(['w', 'x'], names(found))

    def test_conflict_is_limited_to_a_related_part(self):
        # Bounds do not prove it: two threes leave no capacity for the two.
        classes = {
            'three': {'request': {'VCPU': 3}},
            'two': {'request': {'VCPU': 2}},
        }
        found = find(
            racks(a=(4, 4), b=(4, 4)),
            group(
                groups={
                    'g': group(
                        [policy('affinity', 'rack')],
                        three={'class': 'three', 'count': 2},
                        two={'class': 'two'},
                    ),
                    'h': group([policy('anti-affinity', 'host')], w=2),
                }
            ),
            classes,
        )
        self.assertEqual(['affinity', 'g/three', 'g/two'], names(found))
        self.assertTrue(found.is_minimal)

    def test_conflict_found_without_time_is_not_minimal(self):
        everything = group(
            [policy('affinity', 'rack'), policy('spread', 'host')], w=3
        )
        found = find(racks(a=(2,), b=(2,)), everything, seconds=0)
        self.assertEqual(['affinity', 'w'], names(found))
        self.assertFalse(found.is_minimal)

    def test_large_conflict_is_left_large(self):
        for capacity, size, is_minimal in ((73, 39, False), (24, 13, True)):
            with mock.patch.object(tuning, 'MAX_CERTIFIED', 20):
                found = find(
                    racks(a=(capacity,)),
                    group(**{f'm{n:02}': 2 for n in range(60)}),
                )
            # Parts of three sets: 37 sets of two members do not fit.
            self.assertEqual(size, len(found.assumed))
            self.assertEqual(is_minimal, found.is_minimal)

    def test_plan_of_a_problem_proved_impossible_is_an_error(self):
        verdict = feasibility.Verdict(plan=object())
        with mock.patch.object(feasibility, 'solve', return_value=verdict):
            self.assertRaises(RuntimeError, find, racks(a=(2,)), group(w=3))

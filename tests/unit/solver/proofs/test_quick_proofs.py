# SPDX-License-Identifier: Apache-2.0
"""Proofs of infeasibility before any search for a plan."""

from unittest import mock

from oslotest import base

from nova_groupext.solver import bounds
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.proofs import quick_proofs
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

AFFINITY = policy('affinity', 'rack')
CLASSES = {
    'three': {'request': {'VCPU': 3}},
    'two': {'request': {'VCPU': 2}},
}


def packing(**groups):
    """Two members of 3 VCPU leave no capacity for a third of 2 VCPU."""
    tight = group(
        [AFFINITY],
        three={'class': 'three', 'count': 2},
        two={'class': 'two'},
    )
    return builders.problem(
        racks(a=(4, 4), b=(4, 4)),
        group(groups={'g': tight, **groups}),
        CLASSES,
    )


class TestFind(base.BaseTestCase):
    def find(self, problem, seconds=60):
        return quick_proofs.find(
            problem,
            bounds.analyse(problem).shares,
            time_budget.TimeBudget(seconds),
        )

    def assert_no_proof(self, problem, **others):
        found = self.find(problem, **others)
        self.assertFalse(found.is_infeasible)
        self.assertIsNone(found.plan)

    def test_part_of_a_problem_is_proved_impossible(self):
        rest = group([policy('spread', 'host')], w=2)
        found = self.find(packing(h=rest))
        self.assertEqual('subproblem', found.stage)
        self.assertEqual(
            {
                assumptions.PolicyAssumption('g', 'affinity', 'rack'),
                assumptions.MemberAssumption('g/three'),
                assumptions.MemberAssumption('g/two'),
            },
            found.assumed,
        )

    def test_contradictory_policies_are_proved_impossible(self):
        inner = group([policy('affinity', 'rack')], w=4)
        problem = builders.problem(
            racks(**{f'r{number}': (80, 80) for number in range(20)}),
            group([policy('spread', 'rack')], groups={'g': inner}, x=1),
        )
        found = self.find(problem)
        self.assertEqual('policy-conflict', found.stage)
        self.assertEqual(
            {
                assumptions.PolicyAssumption('', 'spread', 'rack'),
                assumptions.PolicyAssumption('g', 'affinity', 'rack'),
                assumptions.MemberAssumption('g/w'),
                assumptions.MemberAssumption('x'),
            },
            found.assumed,
        )

    def test_problem_with_enough_capacity_asks_no_solver(self):
        problem = builders.problem(racks(a=(80,)), group([AFFINITY], w=3))
        with mock.patch.object(
            feasibility, 'solve', side_effect=AssertionError
        ):
            self.assert_no_proof(problem)

    def test_unanswered_question_is_no_proof(self):
        self.assert_no_proof(packing(), seconds=0)

    def test_a_plan_of_a_part_is_no_proof(self):
        problem = builders.problem(racks(a=(3,)), group([AFFINITY], w=3))
        self.assert_no_proof(problem)

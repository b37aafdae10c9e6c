# SPDX-License-Identifier: Apache-2.0
"""Completion of plans of some members."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import partial_plans
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks


class TestComplete(base.BaseTestCase):
    """Completion of a partial plan."""

    def complete(self, small=0, **placement):
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'SMALL_VARIABLES', small)
        )
        problem = builders.problem(
            racks(a=(2, 3)),
            group(v=2, w={'class': 'two', 'count': 1}),
            {'two': {'request': {'VCPU': 3}}},
        )
        plan = violations.Plan(placement, {})
        budget = time_budget.TimeBudget(60)
        return partial_plans.complete(problem, plan, budget, 0.5)

    def let_constructions_fail(self):
        self.useFixture(
            fixtures.MockPatchObject(
                squeaky_wheel.SqueakyWheel,
                'run_iteration',
                lambda *_, **__: None,
            )
        )

    def test_construction_completes_an_easy_problem(self):
        plan = self.complete(**{'v-0': 'a2'})
        self.assertEqual(
            {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}, plan.placement
        )

    def test_placed_members_move(self):
        self.let_constructions_fail()
        plan = self.complete(**{'v-0': 'a2', 'v-1': 'a2'})
        self.assertEqual(
            {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}, plan.placement
        )

    def test_small_problem_is_not_completed(self):
        self.assertIsNone(self.complete(small=100))

    def test_complete_plan_is_not_completed(self):
        placement = {'v-0': 'a1', 'v-1': 'a1', 'w-0': 'a2'}
        self.assertIsNone(self.complete(**placement))

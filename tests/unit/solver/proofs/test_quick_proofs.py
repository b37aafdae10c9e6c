# SPDX-License-Identifier: Apache-2.0
"""What is proved before any plan is looked for."""

from unittest import mock

from oslotest import base

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
    """Two threes on two hosts leave no room for a two."""
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
        return quick_proofs.find(problem, time_budget.TimeBudget(seconds))

    def test_a_comparison(self):
        problem = builders.problem(racks(a=(2,)), group(w=3))
        self.assertEqual(
            ({assumptions.MemberAssumption('w')}, 'bounds'), self.find(problem)
        )

    def test_a_part_without_all_the_rest(self):
        rest = group([policy('spread', 'host')], w=2)
        found = self.find(packing(h=rest))
        self.assertEqual('part', found.stage)
        self.assertEqual(
            {
                assumptions.PolicyAssumption('g', 'affinity', 'rack'),
                assumptions.MemberAssumption('g/three'),
                assumptions.MemberAssumption('g/two'),
            },
            found.tags,
        )

    def test_policies_that_clash(self):
        inner = group([policy('affinity', 'rack')], w=4)
        problem = builders.problem(
            racks(**{f'r{number}': (80, 80) for number in range(20)}),
            group([policy('spread', 'rack')], groups={'g': inner}, x=1),
        )
        found = self.find(problem)
        self.assertEqual('policies', found.stage)
        self.assertEqual(
            {
                assumptions.PolicyAssumption('', 'spread', 'rack'),
                assumptions.PolicyAssumption('g', 'affinity', 'rack'),
                assumptions.MemberAssumption('g/w'),
                assumptions.MemberAssumption('x'),
            },
            found.tags,
        )

    def test_nothing_is_asked_where_there_is_room(self):
        problem = builders.problem(racks(a=(80,)), group([AFFINITY], w=3))
        with mock.patch.object(feasibility, 'ask', side_effect=AssertionError):
            self.assertIsNone(self.find(problem))

    def test_a_question_without_an_answer_is_no_proof(self):
        self.assertIsNone(self.find(packing(), seconds=0))

    def test_a_plan_of_a_part_is_no_proof(self):
        problem = builders.problem(racks(a=(3,)), group([AFFINITY], w=3))
        self.assertIsNone(self.find(problem))

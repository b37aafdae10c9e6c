# SPDX-License-Identifier: Apache-2.0
"""Decisions of the planner, each of which is verified."""

import dataclasses

from oslotest import base

from nova_groupext.solver.solve import decide
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders

PROBLEM = builders.problem(
    builders.racks(a=(2,), b=(1,)),
    builders.group([builders.policy('affinity', 'rack', False)], w=3),
)


def engine(**changes):
    """A search whose answer is tampered with."""

    def run(problem):
        return dataclasses.replace(stages.solve(problem), **changes)

    return run


class TestDecide(base.BaseTestCase):
    def test_answer_has_the_format_of_answer_files(self):
        answer = decide.decide(PROBLEM).to_dict()
        for measured in ('seconds', 'first_seconds', 'peak_mib'):
            self.assertGreater(answer['stats'].pop(measured), 0)
        self.assertEqual(
            {
                'status': 'placed',
                'placement': {'w-0': 'a1', 'w-1': 'a1', 'w-2': 'b1'},
                'alternative': {},
                'unplaced': [],
                'cost': {'soft': 1.0, 'bound': 1.0, 'preference': 0.0},
                'violations': [
                    {
                        'at': '',
                        'policy': {'type': 'affinity', 'scope': 'rack'},
                        'cost': 1.0,
                    }
                ],
                'conflict': [],
                'minimal': True,
                'reason': None,
                'relaxations': [],
                'stats': {'stage': 'tie-breaking', 'cut_short': False},
            },
            answer,
        )

    def test_infeasible_plan_is_an_error(self):
        overload = dict.fromkeys(['w-0', 'w-1', 'w-2'], 'a1')
        error = self.assertRaises(
            decide.UnsoundPlan,
            decide.decide,
            PROBLEM,
            engine(placement=overload),
        )
        self.assertIn('vrt.capacity', str(error))

    def test_wrong_cost_is_an_error(self):
        cost = {'soft': 0.0, 'bound': 0.0, 'preference': 0.0}
        self.assertRaises(
            decide.UnsoundPlan, decide.decide, PROBLEM, engine(cost=cost)
        )

    def test_plan_without_a_cost_is_an_error(self):
        self.assertRaises(
            decide.UnsoundPlan, decide.decide, PROBLEM, engine(cost=None)
        )

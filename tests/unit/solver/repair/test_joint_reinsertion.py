# SPDX-License-Identifier: Apache-2.0
"""Do bundles get seats in their domains, and captives around them?"""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import joint_reinsertion
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {
    'gpu': {'request': {'VCPU': 1, 'GPU': 1}},
    'two': {'request': {'VCPU': 2}},
}


class TestCrowds(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(colocation_groups, '_FEW_DOMAINS', 1)
        )
        hosts = racks(a=(2, 3), b=(3,))
        for host in hosts[:2]:
            host['free']['GPU'] = 1
        groups = {
            'g': group([policy('affinity', 'rack')], w={'class': 'two'}),
            'c': group(v={'class': 'gpu', 'count': 2}),
        }
        topology = group(groups=groups, w=1)
        self.problem = builders.problem(hosts, topology, CLASSES)
        self.placement = {'c/v-0': 'a1', 'c/v-1': 'a2', 'w-0': 'a2'}

    def seat(self, rack, *absent, seconds=60):
        """Seat the bundle in a rack."""
        placement = {
            path: host
            for path, host in self.placement.items()
            if path not in absent
        }
        plan = violations.Plan(placement, {})
        finder = squeaky_wheel.SqueakyWheel(self.problem)
        budget = time_budget.TimeBudget(60)
        bundles = colocation_groups.ColocationGroups(finder, budget)
        places = assignment.AssignmentState(self.problem, plan)
        propagator = next(
            g for g in places.state.propagators if g.policy.type == 'affinity'
        )
        return joint_reinsertion.JointReinsertion(self.problem, places).seat(
            plan,
            joint_reinsertion.Move(
                {propagator: rack}, [propagator], {'g/w', *absent}
            ),
            bundles,
            time_budget.TimeBudget(seconds),
        )

    def test_who_is_free_to_go_has_to(self):
        plan, lifted = self.seat(0)
        self.assertEqual({'w-0'}, lifted)
        self.assertEqual('a2', plan.placement['g/w'])
        self.assertEqual(
            {'a1', 'a2'}, {plan.placement[f'c/v-{n}'] for n in range(2)}
        )
        self.assertNotIn('w-0', plan.placement)
        rest = subproblem.without(self.problem, lifted)
        self.assertFalse(violations.find(rest, plan))

    def test_captives_come_in_with_them(self):
        plan, _ = self.seat(0, 'c/v-1')
        self.assertIn('c/v-1', plan.placement)

    def test_elsewhere_the_others_of_the_domain_go(self):
        self.placement['w-0'] = 'b1'
        plan, lifted = self.seat(1)
        self.assertEqual({'w-0'}, lifted)
        self.assertEqual('b1', plan.placement['g/w'])

    def test_without_time_there_is_no_plan(self):
        self.assertIsNone(self.seat(0, seconds=0))

# SPDX-License-Identifier: Apache-2.0
"""Joint reinsertion of colocation groups and bottleneck members."""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
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


class TestReinsert(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                colocation_groups, '_MAX_LARGE_DOMAINS', 1
            )
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

    def reinsert(self, rack, *absent, seconds=60):
        """Reinsert the colocation group in a rack."""
        placement = {
            path: host
            for path, host in self.placement.items()
            if path not in absent
        }
        plan = violations.Plan(placement, {})
        greedy = squeaky_wheel.SqueakyWheel(self.problem)
        budget = time_budget.TimeBudget(60)
        colocated_groups = colocation_groups.ColocationGroups(greedy, budget)
        assigned = assignment.AssignmentState(self.problem, plan)
        propagator = next(
            propagator
            for propagator in assigned.state.propagators
            if propagator.policy.type == 'affinity'
        )
        return joint_reinsertion.JointReinsertion(
            self.problem, assigned
        ).reinsert(
            plan,
            joint_reinsertion.Move(
                {propagator: rack}, [propagator], {'g/w', *absent}
            ),
            colocated_groups,
            time_budget.TimeBudget(seconds),
        )

    def test_unbound_members_are_ejected(self):
        plan, ejected = self.reinsert(0)
        self.assertEqual({'w-0'}, ejected)
        self.assertEqual('a2', plan.placement['g/w'])
        self.assertEqual(
            {'a1', 'a2'}, {plan.placement[f'c/v-{n}'] for n in range(2)}
        )
        self.assertNotIn('w-0', plan.placement)
        rest = subproblem.remove_members(self.problem, ejected)
        self.assertFalse(violations.find(rest, plan))

    def test_unplaced_bottleneck_members_are_placed_too(self):
        plan, _ = self.reinsert(0, 'c/v-1')
        self.assertIn('c/v-1', plan.placement)

    def test_members_on_other_bottleneck_hosts_are_ejected(self):
        self.placement['w-0'] = 'b1'
        plan, ejected = self.reinsert(1)
        self.assertEqual({'w-0'}, ejected)
        self.assertEqual('b1', plan.placement['g/w'])

    def test_without_time_no_plan_is_found(self):
        self.assertIsNone(self.reinsert(0, seconds=0))

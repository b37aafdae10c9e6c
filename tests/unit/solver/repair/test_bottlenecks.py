# SPDX-License-Identifier: Apache-2.0
"""Bottleneck classes, whose members need nearly all of their capacity."""

from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.repair import bottlenecks
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {
    'gpu': {'request': {'VCPU': 1, 'GPU': 1}},
    'gpus': {'request': {'VCPU': 2, 'GPU': 2}},
    'few': {'request': {'VCPU': 1}, 'hosts': ['b1']},
    'none': {'request': {}},
}


class TestFind(base.BaseTestCase):
    def find(self, **groups):
        """Return paths of bottleneck members; one rack has five GPUs."""
        hosts = racks(a=(9, 9), b=(9,))
        hosts[0]['free']['GPU'] = 3
        hosts[1]['free']['GPU'] = 2
        problem = builders.problem(hosts, group(groups=groups), CLASSES)
        greedy = squeaky_wheel.SqueakyWheel(problem)
        eq_classes = bottlenecks.find(greedy.state, greedy.min_demand)
        return sorted(
            path for eq_class in eq_classes for path in eq_class.members
        )

    def test_class_that_needs_a_scarce_resource_is_a_bottleneck(self):
        members = group(w=2, v={'class': 'gpu', 'count': 5})
        self.assertEqual([f'g/v-{n}' for n in range(5)], self.find(g=members))

    def test_larger_members_count_several_times(self):
        one = group(v={'class': 'gpu'})
        large = group(v={'class': 'gpus', 'count': 2})
        self.assertEqual(['g/v', 'h/v-0', 'h/v-1'], self.find(g=one, h=large))

    def test_enough_capacity_makes_no_bottleneck(self):
        members = group(v={'class': 'gpu', 'count': 4})
        self.assertEqual([], self.find(g=members))

    def test_class_of_a_few_hosts_is_a_bottleneck(self):
        members = group(w=9, v={'class': 'few', 'count': 9})
        self.assertEqual([f'g/v-{n}' for n in range(9)], self.find(g=members))

    def test_colocated_members_are_no_bottleneck(self):
        members = group(
            [policy('affinity', 'rack')], v={'class': 'gpu', 'count': 5}
        )
        self.assertEqual([], self.find(g=members))

    def test_class_without_a_request_is_no_bottleneck(self):
        members = group(v={'class': 'none', 'count': 9})
        self.assertEqual([], self.find(g=members))

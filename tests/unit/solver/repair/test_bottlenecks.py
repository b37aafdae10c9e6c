# SPDX-License-Identifier: Apache-2.0
"""Who needs nearly all the places there are?"""

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


class TestCaptives(base.BaseTestCase):
    def find(self, **groups):
        """Paths of the captives where five cards are in one rack."""
        hosts = racks(a=(9, 9), b=(9,))
        hosts[0]['free']['GPU'] = 3
        hosts[1]['free']['GPU'] = 2
        problem = builders.problem(hosts, group(groups=groups), CLASSES)
        finder = squeaky_wheel.SqueakyWheel(problem)
        found = bottlenecks.find(finder.state, finder.wanted)
        return sorted(path for unit in found for path in unit.members)

    def test_are_those_that_ask_for_what_is_short(self):
        some = group(w=2, v={'class': 'gpu', 'count': 5})
        self.assertEqual([f'g/v-{n}' for n in range(5)], self.find(g=some))

    def test_large_ones_take_the_places_of_several(self):
        one = group(v={'class': 'gpu'})
        large = group(v={'class': 'gpus', 'count': 2})
        self.assertEqual(['g/v', 'h/v-0', 'h/v-1'], self.find(g=one, h=large))

    def test_there_are_none_where_there_is_enough(self):
        some = group(v={'class': 'gpu', 'count': 4})
        self.assertEqual([], self.find(g=some))

    def test_a_few_hosts_may_be_what_is_short(self):
        some = group(w=9, v={'class': 'few', 'count': 9})
        self.assertEqual([f'g/v-{n}' for n in range(9)], self.find(g=some))

    def test_who_shares_a_domain_is_none(self):
        some = group(
            [policy('affinity', 'rack')], v={'class': 'gpu', 'count': 5}
        )
        self.assertEqual([], self.find(g=some))

    def test_who_asks_for_nothing_is_none(self):
        some = group(v={'class': 'none', 'count': 9})
        self.assertEqual([], self.find(g=some))

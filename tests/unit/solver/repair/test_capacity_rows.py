# SPDX-License-Identifier: Apache-2.0
"""Is a domain asked for all that it has, and for no more?"""

import collections

from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import master_problem
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

LARGEST = 2**63 - 1


def in_one(scope, **members):
    """A group whose members share a domain."""
    return group([policy('affinity', scope)], **members)


class TestLimits(base.BaseTestCase):
    def fill(self, hosts, groups, classes=None):
        """First host of a rack -> how many bundles are allotted to it."""
        problem = builders.problem(hosts, group(groups=groups), classes)
        finder = squeaky_wheel.SqueakyWheel(problem)
        budget = time_budget.TimeBudget(60)
        allotment = master_problem.DomainAssignment(finder, budget)
        anywhere = {
            propagator: range(len(propagator.domains))
            for propagator in allotment.found.domains
        }
        homes = allotment.near(violations.Plan({}, {}), anywhere, budget)
        names = finder.state.matrices.hosts
        return collections.Counter(
            names[propagator.domains[domain][0]]
            for propagator, domain in homes.items()
        )

    def test_nor_for_more_places_than_it_has(self):
        # There is room for four, but for two of three only once.
        hosts = racks(a=(5, 3), b=(3, 1))
        classes = {'two': {'request': {'VCPU': 2}}}
        pair = in_one('rack', w={'class': 'two', 'count': 2})
        one = in_one('rack', w={'class': 'two', 'count': 1})
        homes = self.fill(hosts, {'v': pair, 'x': one, 'y': one}, classes)
        self.assertEqual({'a1': 2, 'b1': 1}, homes)

    def test_members_of_other_classes_do_not_use_up_places(self):
        # The small one could sit once; the large ones are more than one.
        small = in_one('rack', v=1)
        large = in_one('rack', w={'class': 'two', 'count': 3})
        classes = {'two': {'request': {'VCPU': 2}}}
        homes = self.fill(racks(a=(8,)), {'g': small, 'k': large}, classes)
        self.assertEqual({'a1': 2}, homes)

    def test_nor_do_those_that_may_use_other_hosts(self):
        classes = {
            'few': {'request': {'VCPU': 1}, 'hosts': ['a1']},
            'two': {'request': {'VCPU': 2}},
        }
        small = in_one('rack', v={'class': 'few'})
        large = in_one('rack', w={'class': 'two', 'count': 3})
        homes = self.fill(racks(a=(1, 6)), {'g': small, 'k': large}, classes)
        self.assertEqual({'a1': 2}, homes)

    def test_there_are_as_many_places_as_all_ways_give(self):
        ways = [{'GPU0': 1}, {'GPU1': 1}]
        classes = {'gpu': {'request': {}, 'alternatives': {'a1': ways}}}
        hosts = racks(a=(1,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        one = in_one('rack', w={'class': 'gpu'})
        homes = self.fill(hosts, {'g': one, 'k': one}, classes)
        self.assertEqual({'a1': 2}, homes)

    def test_amounts_as_large_as_they_may_be(self):
        classes = {'all': {'request': {'VCPU': LARGEST}}}
        one = in_one('rack', w={'class': 'all'})
        for free, expected in ((LARGEST, {'a1': 2}), (LARGEST - 1, {})):
            hosts = racks(a=(LARGEST, free))
            homes = self.fill(hosts, {'g': one, 'k': one}, classes)
            self.assertEqual(expected, homes)

    def test_who_is_in_several_bundles_counts_once(self):
        groups = {'g': group([policy('affinity', 'rack')] * 2, w=2)}
        homes = self.fill(racks(a=(2,), b=(1,)), groups)
        self.assertEqual({'a1': 2}, homes)

    def test_optional_members_ask_for_nothing(self):
        some = {'class': 'one', 'count': 4, 'min_count': 1}
        groups = {f'g{n}': in_one('rack', w=some) for n in range(2)}
        homes = self.fill(racks(a=(2,)), groups)
        self.assertEqual({'a1': 2}, homes)

    def test_hosts_without_domains_are_nobodys(self):
        hosts = [builders.host('h', cpu=9), *racks(a=(2,))]
        homes = self.fill(hosts, {'g': in_one('rack', w=2)})
        self.assertEqual({'a1': 1}, homes)

    def test_too_many_bundles_get_none(self):
        groups = {name: in_one('rack', w=2) for name in 'gk'}
        self.assertEqual({}, self.fill(racks(a=(2,)), groups))

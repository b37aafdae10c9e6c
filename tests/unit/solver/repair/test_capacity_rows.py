# SPDX-License-Identifier: Apache-2.0
"""Capacity rows: demand on the domains of colocation groups."""

import collections

from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import master_problem
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

LARGEST = 2**63 - 1


def colocated(scope, **members):
    """Return a group whose members share a domain."""
    return group([policy('affinity', scope)], **members)


class TestCapacityRows(base.BaseTestCase):
    def count_groups(self, hosts, groups, classes=None):
        """Return {first host of a rack: number of its colocation groups}."""
        problem = builders.problem(hosts, group(groups=groups), classes)
        greedy = squeaky_wheel.SqueakyWheel(problem)
        budget = time_budget.TimeBudget(60)
        master = master_problem.DomainAssignment(greedy, budget)
        all_domains = {
            propagator: range(len(propagator.domains))
            for propagator in master.groups.domains
        }
        prescribed = master.find_domains(
            violations.Plan({}, {}), all_domains, budget
        )
        host_ids = greedy.state.matrices.hosts
        return collections.Counter(
            host_ids[propagator.domains[domain][0]]
            for propagator, domain in prescribed.items()
        )

    def test_members_of_a_class_do_not_exceed_its_capacity(self):
        # There is capacity for four members, but for a pair only in a.
        hosts = racks(a=(5, 3), b=(3, 1))
        classes = {'two': {'request': {'VCPU': 2}}}
        pair = colocated('rack', w={'class': 'two', 'count': 2})
        one = colocated('rack', w={'class': 'two', 'count': 1})
        prescribed = self.count_groups(
            hosts, {'v': pair, 'x': one, 'y': one}, classes
        )
        self.assertEqual({'a1': 2, 'b1': 1}, prescribed)

    def test_larger_members_do_not_exceed_the_capacity_of_a_small_class(self):
        # The capacity for small members does not limit larger ones to one.
        small = colocated('rack', v=1)
        large = colocated('rack', w={'class': 'two', 'count': 3})
        classes = {'two': {'request': {'VCPU': 2}}}
        prescribed = self.count_groups(
            racks(a=(8,)), {'g': small, 'k': large}, classes
        )
        self.assertEqual({'a1': 2}, prescribed)

    def test_members_allowed_on_other_hosts_do_not_count(self):
        classes = {
            'few': {'request': {'VCPU': 1}, 'hosts': ['a1']},
            'two': {'request': {'VCPU': 2}},
        }
        small = colocated('rack', v={'class': 'few'})
        large = colocated('rack', w={'class': 'two', 'count': 3})
        prescribed = self.count_groups(
            racks(a=(1, 6)), {'g': small, 'k': large}, classes
        )
        self.assertEqual({'a1': 2}, prescribed)

    def test_capacity_counts_all_alternatives(self):
        options = [{'GPU0': 1}, {'GPU1': 1}]
        classes = {'gpu': {'request': {}, 'alternatives': {'a1': options}}}
        hosts = racks(a=(1,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        one = colocated('rack', w={'class': 'gpu'})
        prescribed = self.count_groups(hosts, {'g': one, 'k': one}, classes)
        self.assertEqual({'a1': 2}, prescribed)

    def test_largest_amounts_do_not_overflow(self):
        classes = {'all': {'request': {'VCPU': LARGEST}}}
        one = colocated('rack', w={'class': 'all'})
        for free, expected in ((LARGEST, {'a1': 2}), (LARGEST - 1, {})):
            hosts = racks(a=(LARGEST, free))
            prescribed = self.count_groups(
                hosts, {'g': one, 'k': one}, classes
            )
            self.assertEqual(expected, prescribed)

    def test_member_of_several_groups_counts_once(self):
        groups = {'g': group([policy('affinity', 'rack')] * 2, w=2)}
        prescribed = self.count_groups(racks(a=(2,), b=(1,)), groups)
        self.assertEqual({'a1': 2}, prescribed)

    def test_optional_members_have_no_demand(self):
        optional = {'class': 'one', 'count': 4, 'min_count': 1}
        groups = {f'g{n}': colocated('rack', w=optional) for n in range(2)}
        prescribed = self.count_groups(racks(a=(2,)), groups)
        self.assertEqual({'a1': 2}, prescribed)

    def test_hosts_without_a_domain_have_no_capacity(self):
        hosts = [builders.host('h', cpu=9), *racks(a=(2,))]
        prescribed = self.count_groups(hosts, {'g': colocated('rack', w=2)})
        self.assertEqual({'a1': 1}, prescribed)

    def test_too_many_groups_get_no_domains(self):
        groups = {name: colocated('rack', w=2) for name in 'gk'}
        self.assertEqual({}, self.count_groups(racks(a=(2,)), groups))

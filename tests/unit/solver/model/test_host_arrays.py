# SPDX-License-Identifier: Apache-2.0
"""Hosts as arrays: domains, free amounts, how many members fit."""

import dataclasses

import numpy as np
from oslotest import base

from nova_groupext.solver import arrays
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import subproblem
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks


class TestDomains(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        hosts = [
            builders.host('h1', 'r2'),
            builders.host('h2', 'r1'),
            builders.host('h3'),
            builders.host('h4', 'r2'),
        ]
        problem = builders.problem(hosts, group(w=1))
        self.arrays = host_arrays.HostArrays(problem)
        self.racks = self.arrays.domains('rack')

    def hosts(self, level):
        return [hosts.tolist() for hosts in self.arrays.domains(level).hosts]

    def test_domains_are_numbered_by_their_first_hosts(self):
        self.assertEqual([0, 1, -1, 0], self.racks.numbers.tolist())
        self.assertEqual(2, self.racks.size)
        self.assertEqual([[0, 3], [1]], self.hosts('rack'))
        self.assertEqual([0, 1], self.racks.first_hosts.tolist())

    def test_every_host_is_a_domain(self):
        numbers = self.arrays.domains('host').numbers
        self.assertEqual([0, 1, 2, 3], numbers.tolist())
        self.assertEqual([[0], [1], [2], [3]], self.hosts('host'))

    def test_a_level_may_have_no_domains(self):
        zones = self.arrays.domains('zone')
        self.assertEqual([-1] * 4, zones.numbers.tolist())
        self.assertEqual([], self.hosts('zone'))
        self.assertEqual([], zones.first_hosts.tolist())
        self.assertEqual([], zones.sum(np.arange(4)).tolist())

    def test_values_are_summed_without_hosts_that_have_no_domain(self):
        values = np.array([1, 2, 4, 8])
        self.assertEqual([9, 2], self.racks.sum(values).tolist())

    def test_values_of_some_hosts_are_summed_by_domain(self):
        sums = self.racks.sum(np.array([5, 7]), np.array([3, 2]))
        self.assertEqual([5, 0], sums.tolist())

    def test_sum_over_a_single_domain_does_not_overflow(self):
        cloud = host_arrays.Domains(np.zeros(2, np.int64), 1)
        sums = cloud.sum(np.array([2**62, 2**62]))
        self.assertEqual([2.0**63], sums.tolist())


class TestMaxMembers(base.BaseTestCase):
    def max_members(self, member_class):
        problem = builders.problem(
            racks(a=(8, 3)), group(w=1), {'two': member_class}
        )
        found = host_arrays.HostArrays(problem)
        return found.max_members(problem.classes['two']).tolist()

    def test_members_are_limited_by_free_amounts(self):
        self.assertEqual([4, 1], self.max_members({'request': {'VCPU': 2}}))

    def test_unknown_resource_is_not_free(self):
        request = {'VCPU': 2, 'GPU': 1}
        self.assertEqual([0, 0], self.max_members({'request': request}))

    def test_hosts_that_are_not_allowed_take_none(self):
        two = {'request': {'VCPU': 2}, 'hosts': ['a2']}
        self.assertEqual([0, 1], self.max_members(two))

    def test_alternatives_may_share_a_host(self):
        options = [{'VCPU': 2}, {'VCPU': 4}]
        two = {'request': {'VCPU': 2}, 'alternatives': {'a1': options}}
        self.assertEqual([6, 1], self.max_members(two))

    def test_members_that_need_nothing_are_unlimited(self):
        for member_class in (
            {'request': {}},
            {'request': {'VCPU': 0}},
            {'request': {}, 'alternatives': {'a1': [{}, {}]}},
        ):
            self.assertEqual(
                [arrays.UNLIMITED] * 2, self.max_members(member_class)
            )


class TestSharedArrays(base.BaseTestCase):
    """Arrays that problems share."""

    def test_problems_with_the_same_hosts_share_arrays(self):
        problem = builders.problem(racks(a=(1,)), group(w=2))
        other = subproblem.require_only(problem, ['w-0'])
        self.assertIs(host_arrays.of(problem), host_arrays.of(other))

    def test_other_hosts_have_other_arrays(self):
        problem = builders.problem(racks(a=(1,)), group(w=2))
        larger = builders.problem(racks(a=(2,)), group(w=2))
        other = dataclasses.replace(problem, hosts=larger.hosts)
        for each, free in ((problem, 1), (other, 2), (problem, 1)):
            self.assertEqual([free], host_arrays.of(each).free('VCPU'))

# SPDX-License-Identifier: Apache-2.0
"""Colocation groups, and the domains where they fit."""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import colocation_groups
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def colocated(scope='rack', strict=True, **members):
    """Return a group whose members share a domain."""
    return group([policy('affinity', scope, strict)], **members)


class ColocationGroupsCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                colocation_groups, '_MAX_LARGE_DOMAINS', 1
            )
        )

    def find(self, hosts, topology, seconds=60, **others):
        problem = builders.problem(hosts, topology, **others)
        self.greedy = squeaky_wheel.SqueakyWheel(problem)
        return colocation_groups.ColocationGroups(
            self.greedy, time_budget.TimeBudget(seconds)
        )

    def domains(self, colocated_groups):
        """Return {path of the group: racks}."""
        names = [host.domains['rack'] for host in self.hosts(colocated_groups)]
        return {
            propagator.policy.at: sorted(
                {names[propagator.domains[d][0]] for d in domains}
            )
            for propagator, domains in colocated_groups.domains.items()
        }

    def hosts(self, colocated_groups):
        return list(self.greedy.problem.hosts.values())


class TestDomains(ColocationGroupsCase):
    def test_domains_that_take_all_members_are_candidates(self):
        colocated_groups = self.find(
            racks(a=(2, 2), b=(1, 1), c=(4,)),
            group(groups={'g': colocated(w=3), 'h': colocated(v=2)}),
        )
        self.assertEqual(
            {'g': ['a', 'c'], 'h': ['a', 'b', 'c']},
            self.domains(colocated_groups),
        )

    def test_soft_and_pinned_groups_need_no_domain(self):
        colocated_groups = self.find(
            racks(a=(4,), b=(4,)),
            group(
                groups={'g': colocated(w=2), 'h': colocated(strict=False, v=2)}
            ),
            pinned={'g/w-0': 'a1'},
        )
        self.assertEqual({}, colocated_groups.domains)

    def test_large_domains_are_not_tested_by_construction(self):
        self.useFixture(
            fixtures.MockPatchObject(
                colocation_groups, '_MAX_LARGE_DOMAINS', 9
            )
        )
        colocated_groups = self.find(
            racks(a=(2, 2), b=(1, 1)), group(groups={'g': colocated(w=3)})
        )
        self.assertEqual({'g': ['a']}, self.domains(colocated_groups))
        self.assertEqual({}, self.greedy.state.fitting)

    def test_without_time_groups_are_ignored(self):
        colocated_groups = self.find(
            racks(a=(4,), b=(4,)),
            group(groups={'g': colocated(w=2)}),
            seconds=0,
        )
        self.assertEqual({}, colocated_groups.domains)

    def test_group_without_a_candidate_is_left_out(self):
        colocated_groups = self.find(
            racks(a=(1,), b=(1,)), group(groups={'g': colocated(w=2)})
        )
        self.assertEqual({}, colocated_groups.domains)


class TestCanFit(ColocationGroupsCase):
    def can_fit(self, hosts, groups, domain=0, **others):
        colocated_groups = self.find(hosts, group(groups=groups), **others)
        before = self.greedy.state.matrices.free.tolist()
        prescribed = dict.fromkeys(colocated_groups.domains, domain)
        can_fit = colocated_groups.can_fit(
            prescribed, time_budget.TimeBudget(60)
        )
        self.assertEqual(before, self.greedy.state.matrices.free.tolist())
        self.assertEqual({}, self.greedy.state.prescribed)
        return can_fit

    def test_groups_fit_where_capacity_is_enough_for_all(self):
        pairs = {'g': colocated(w=2), 'h': colocated(w=2)}
        self.assertTrue(self.can_fit(racks(a=(2, 2), b=(9,)), pairs))

    def test_groups_do_not_fit_where_capacity_is_enough_for_one(self):
        pairs = {'g': colocated(w=2), 'h': colocated(w=2)}
        self.assertFalse(self.can_fit(racks(a=(2, 1), b=(9,)), pairs))

    def let_constructions_fail(self):
        failure = fixtures.MockPatchObject(
            colocation_groups.ColocationGroups, '_assign', return_value=False
        )
        self.useFixture(failure)

    def test_integer_program_decides_after_failed_constructions(self):
        self.let_constructions_fail()
        pairs = {'g': colocated(w=2), 'h': colocated(w=2)}
        self.assertTrue(self.can_fit(racks(a=(2, 2), b=(9,)), pairs))
        self.assertFalse(self.can_fit(racks(a=(2, 1), b=(9,)), pairs))

    def test_pinned_members_of_other_groups_do_not_matter(self):
        self.let_constructions_fail()
        groups = {'g': colocated(w=2), 'p': group(x=1)}
        pinned = {'p/x-0': 'b1'}
        hosts = racks(a=(2,), b=(9,))
        self.assertTrue(self.can_fit(hosts, groups, pinned=pinned))

    def test_bottleneck_members_must_fit_too(self):
        hosts = racks(a=(2,), b=(2,))
        hosts[0]['free']['GPU'] = 1
        classes = {'gpu': {'request': {'VCPU': 1, 'GPU': 1}}}
        groups = {'g': colocated(w=2), 'c': group(v={'class': 'gpu'})}
        self.assertFalse(self.can_fit(hosts, groups, 0, classes=classes))
        self.assertTrue(self.can_fit(hosts, groups, 1, classes=classes))

# SPDX-License-Identifier: Apache-2.0
"""Where would members who have to share a domain fit?"""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import colocation_groups
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def together(scope='rack', strict=True, **members):
    """A subgroup whose members share a domain."""
    return group([policy('affinity', scope, strict)], **members)


class BundlesCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(colocation_groups, '_FEW_DOMAINS', 1)
        )

    def find(self, hosts, topology, seconds=60, **others):
        problem = builders.problem(hosts, topology, **others)
        self.finder = squeaky_wheel.SqueakyWheel(problem)
        return colocation_groups.ColocationGroups(
            self.finder, time_budget.TimeBudget(seconds)
        )

    def domains(self, bundles):
        """Path of the subgroup -> racks."""
        names = [host.domains['rack'] for host in self.hosts(bundles)]
        return {
            propagator.policy.at: sorted(
                {names[propagator.domains[d][0]] for d in domains}
            )
            for propagator, domains in bundles.domains.items()
        }

    def hosts(self, bundles):
        return list(self.finder.problem.hosts.values())


class TestDomains(BundlesCase):
    def test_are_those_that_take_all_of_them(self):
        bundles = self.find(
            racks(a=(2, 2), b=(1, 1), c=(4,)),
            group(groups={'g': together(w=3), 'h': together(v=2)}),
        )
        self.assertEqual(
            {'g': ['a', 'c'], 'h': ['a', 'b', 'c']}, self.domains(bundles)
        )

    def test_soft_and_pinned_ones_do_not_wait_for_any(self):
        bundles = self.find(
            racks(a=(4,), b=(4,)),
            group(
                groups={'g': together(w=2), 'h': together(strict=False, v=2)}
            ),
            pinned={'g/w-0': 'a1'},
        )
        self.assertEqual({}, bundles.domains)

    def test_in_large_ones_nobody_is_seated(self):
        self.useFixture(
            fixtures.MockPatchObject(colocation_groups, '_FEW_DOMAINS', 9)
        )
        bundles = self.find(
            racks(a=(2, 2), b=(1, 1)), group(groups={'g': together(w=3)})
        )
        self.assertEqual({'g': ['a']}, self.domains(bundles))
        self.assertEqual({}, self.finder.state.fitting)

    def test_none_is_found_without_time(self):
        bundles = self.find(
            racks(a=(4,), b=(4,)),
            group(groups={'g': together(w=2)}),
            seconds=0,
        )
        self.assertEqual({}, bundles.domains)

    def test_who_fits_nowhere_is_left_out(self):
        bundles = self.find(
            racks(a=(1,), b=(1,)), group(groups={'g': together(w=2)})
        )
        self.assertEqual({}, bundles.domains)


class TestFit(BundlesCase):
    def fit(self, hosts, groups, domain=0, **others):
        bundles = self.find(hosts, group(groups=groups), **others)
        before = self.finder.state.matrices.free.tolist()
        homes = dict.fromkeys(bundles.domains, domain)
        fit = bundles.fit(homes, time_budget.TimeBudget(60))
        self.assertEqual(before, self.finder.state.matrices.free.tolist())
        self.assertEqual({}, self.finder.state.homes)
        return fit

    def test_they_do_where_there_is_room_for_all(self):
        pairs = {'g': together(w=2), 'h': together(w=2)}
        self.assertTrue(self.fit(racks(a=(2, 2), b=(9,)), pairs))

    def test_they_do_not_where_there_is_room_for_one(self):
        pairs = {'g': together(w=2), 'h': together(w=2)}
        self.assertFalse(self.fit(racks(a=(2, 1), b=(9,)), pairs))

    def let_attempts_fail(self):
        nobody = fixtures.MockPatchObject(
            colocation_groups.ColocationGroups, '_seat', return_value=False
        )
        self.useFixture(nobody)

    def test_what_attempts_do_not_find_is_found_all_the_same(self):
        self.let_attempts_fail()
        pairs = {'g': together(w=2), 'h': together(w=2)}
        self.assertTrue(self.fit(racks(a=(2, 2), b=(9,)), pairs))
        self.assertFalse(self.fit(racks(a=(2, 1), b=(9,)), pairs))

    def test_pinned_members_stay_where_they_are(self):
        self.let_attempts_fail()
        groups = {'g': together(w=2), 'p': group(x=1)}
        pinned = {'p/x-0': 'b1'}
        hosts = racks(a=(2,), b=(9,))
        self.assertTrue(self.fit(hosts, groups, pinned=pinned))

    def test_captives_have_to_find_room_as_well(self):
        hosts = racks(a=(2,), b=(2,))
        hosts[0]['free']['GPU'] = 1
        classes = {'gpu': {'request': {'VCPU': 1, 'GPU': 1}}}
        groups = {'g': together(w=2), 'c': group(v={'class': 'gpu'})}
        self.assertFalse(self.fit(hosts, groups, 0, classes=classes))
        self.assertTrue(self.fit(hosts, groups, 1, classes=classes))

# SPDX-License-Identifier: Apache-2.0
"""Where would members who have to share a domain fit?"""

import fixtures
from oslotest import base

from nova_groupext.planner import clock as clocks
from nova_groupext.planner.greedy import bundles as bundling
from nova_groupext.planner.greedy import greedy
from tests.unit.planner import builders
from tests.unit.planner.builders import group
from tests.unit.planner.builders import policy
from tests.unit.planner.builders import racks


def together(scope='rack', strict=True, **members):
    """A subgroup whose members share a domain."""
    return group([policy('affinity', scope, strict)], **members)


class BundlesCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(bundling, '_FEW_DOMAINS', 1))

    def find(self, hosts, topology, seconds=60, **others):
        problem = builders.problem(hosts, topology, **others)
        self.finder = greedy.Greedy(problem)
        return bundling.Bundles(self.finder, clocks.Clock(seconds))

    def domains(self, bundles):
        """Path of the subgroup -> racks."""
        names = [host.domains['rack'] for host in self.hosts(bundles)]
        return {
            guard.policy.at: sorted(
                {names[guard.domains[d][0]] for d in domains}
            )
            for guard, domains in bundles.domains.items()
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
        self.useFixture(fixtures.MockPatchObject(bundling, '_FEW_DOMAINS', 9))
        bundles = self.find(
            racks(a=(2, 2), b=(1, 1)), group(groups={'g': together(w=3)})
        )
        self.assertEqual({'g': ['a']}, self.domains(bundles))
        self.assertEqual({}, self.finder.setting.fitting)

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


class TestFitTogether(BundlesCase):
    def fit(self, hosts, *counts):
        groups = {f'g{n}': together(w=count) for n, count in enumerate(counts)}
        bundles = self.find(hosts, group(groups=groups))
        some = list(bundles.domains)
        before = self.finder.setting.board.free.tolist()
        fit = bundles.fit_together(some, 0)
        self.assertEqual(before, self.finder.setting.board.free.tolist())
        self.assertEqual({}, self.finder.setting.homes)
        return fit

    def test_they_do_where_there_is_room_for_all(self):
        self.assertTrue(self.fit(racks(a=(2, 2), b=(9,)), 2, 2))

    def test_they_do_not_where_there_is_room_for_one(self):
        self.assertFalse(self.fit(racks(a=(2, 1), b=(9,)), 2, 2))

# SPDX-License-Identifier: Apache-2.0
"""Capacity relaxations: few hosts, of unlimited capacity."""

from oslotest import base

from nova_groupext.solver.proofs import capacity_relaxation
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy


def make_hosts(zones=3, racks=10, hosts=20):
    """Return hosts in racks in zones, all of them full."""
    return [
        builders.host(f'{zone}-{rack}-{n}', f'{zone}-{rack}', f'z{zone}', 0)
        for zone in range(zones)
        for rack in range(racks)
        for n in range(hosts)
    ]


def relax(hosts, topology, *args, **kwargs):
    problem = builders.problem(hosts, topology, *args, **kwargs)
    return capacity_relaxation.relax_capacity(problem)


class TestRelaxCapacity(base.BaseTestCase):
    def test_equal_domains_are_limited_by_the_number_of_members(self):
        relaxed = relax(make_hosts(), group(w=2))
        self.assertEqual(2 * 2 * 2, len(relaxed.hosts))
        self.assertEqual({}, relaxed.classes['one'].request)
        self.assertEqual(set(relaxed.hosts), relaxed.classes['one'].hosts)

    def test_racks_with_different_hosts_are_kept_apart(self):
        hosts = [h for h in make_hosts(1, 3, 3) if h['id'] != '0-1-0']
        self.assertEqual(1, len(relax(hosts, group(w=1)).hosts))
        # Three members distinguish the rack of two hosts from those of three.
        self.assertEqual(8, len(relax(hosts, group(w=3)).hosts))

    def test_hosts_with_pinned_members_are_kept(self):
        pinned = {'w-1': '2-9-19'}
        relaxed = relax(make_hosts(), group(w=2), pinned=pinned)
        self.assertIn('2-9-19', relaxed.hosts)

    def test_foreign_hosts_matter_only_to_exclusive_policies(self):
        hosts = make_hosts(1, 1, 4)
        hosts[3]['foreign'] = True
        self.assertEqual(1, len(relax(hosts, group(w=1)).hosts))
        alone = group([policy('exclusive', 'host')], w=1)
        self.assertIn('0-0-3', relax(hosts, alone).hosts)

    def test_hosts_of_a_class_are_kept_apart(self):
        classes = {'gpu': {'request': {'GPU': 9}, 'hosts': ['0-0-3']}}
        relaxed = relax(
            make_hosts(1, 1, 4), group(w={'class': 'gpu'}), classes
        )
        self.assertEqual({'0-0-3'}, relaxed.classes['gpu'].hosts)

    def test_racks_that_cross_zones_are_all_kept(self):
        hosts = [
            builders.host(f'{zone}{rack}', rack, zone)
            for zone in 'xyz'
            for rack in 'abc'
        ]
        self.assertEqual(9, len(relax(hosts, group(w=1)).hosts))

    def test_cloud_without_hosts_has_an_empty_relaxation(self):
        self.assertEqual({}, relax([], group(w=1)).hosts)

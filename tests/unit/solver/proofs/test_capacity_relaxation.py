# SPDX-License-Identifier: Apache-2.0
"""A cloud with room for everybody, on few hosts."""

from oslotest import base

from nova_groupext.solver.proofs import capacity_relaxation
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy


def cloud(zones=3, racks=10, hosts=20):
    """Hosts in racks in zones, all without any room."""
    return [
        builders.host(f'{zone}-{rack}-{n}', f'{zone}-{rack}', f'z{zone}', 0)
        for zone in range(zones)
        for rack in range(racks)
        for n in range(hosts)
    ]


def draw(hosts, topology, *args, **kwargs):
    problem = builders.problem(hosts, topology, *args, **kwargs)
    return capacity_relaxation.relax_capacity(problem)


class TestDraw(base.BaseTestCase):
    def test_no_more_of_a_kind_than_there_are_members(self):
        drawn = draw(cloud(), group(w=2))
        self.assertEqual(2 * 2 * 2, len(drawn.hosts))
        self.assertEqual({}, drawn.classes['one'].request)
        self.assertEqual(set(drawn.hosts), drawn.classes['one'].hosts)

    def test_racks_that_differ_are_of_different_kinds(self):
        hosts = [h for h in cloud(1, 3, 3) if h['id'] != '0-1-0']
        self.assertEqual(1, len(draw(hosts, group(w=1)).hosts))
        # With three members the rack of two is told from those of three.
        self.assertEqual(8, len(draw(hosts, group(w=3)).hosts))

    def test_hosts_with_pinned_members_are_drawn(self):
        pinned = {'w-1': '2-9-19'}
        drawn = draw(cloud(), group(w=2), pinned=pinned)
        self.assertIn('2-9-19', drawn.hosts)

    def test_others_matter_to_exclusive_policies_only(self):
        hosts = cloud(1, 1, 4)
        hosts[3]['foreign'] = True
        self.assertEqual(1, len(draw(hosts, group(w=1)).hosts))
        alone = group([policy('exclusive', 'host')], w=1)
        self.assertIn('0-0-3', draw(hosts, alone).hosts)

    def test_hosts_of_a_class_are_told_from_others(self):
        classes = {'gpu': {'request': {'GPU': 9}, 'hosts': ['0-0-3']}}
        drawn = draw(cloud(1, 1, 4), group(w={'class': 'gpu'}), classes)
        self.assertEqual({'0-0-3'}, drawn.classes['gpu'].hosts)

    def test_racks_that_cross_zones_are_all_drawn(self):
        hosts = [
            builders.host(f'{zone}{rack}', rack, zone)
            for zone in 'xyz'
            for rack in 'abc'
        ]
        self.assertEqual(9, len(draw(hosts, group(w=1)).hosts))

    def test_without_hosts(self):
        self.assertEqual({}, draw([], group(w=1)).hosts)

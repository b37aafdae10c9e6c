# SPDX-License-Identifier: Apache-2.0
"""Hosts of the try-out cloud in their racks and zones."""

import collections

from oslotest import base

from nova_groupext.cloud import hosts


class TestEvenly(base.BaseTestCase):
    def test_twelve_hosts_fill_four_racks_in_two_zones(self):
        made = hosts.evenly()

        places = collections.Counter((host.zone, host.rack) for host in made)
        expected = {
            ('az1', 'r1'): 3,
            ('az1', 'r2'): 3,
            ('az2', 'r3'): 3,
            ('az2', 'r4'): 3,
        }
        self.assertEqual(expected, places)

    def test_names_count_from_one(self):
        names = [host.name for host in hosts.evenly(3)]

        self.assertEqual(['cmp-1', 'cmp-2', 'cmp-3'], names)

    def test_uneven_racks_differ_by_one(self):
        racks = collections.Counter(host.rack for host in hosts.evenly(10))

        self.assertEqual([2, 2, 3, 3], sorted(racks.values()))

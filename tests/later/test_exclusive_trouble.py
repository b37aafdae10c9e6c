# SPDX-License-Identifier: Apache-2.0
"""Does trouble with one host stay with that host?"""

import fixtures

from nova_groupext import objects
from nova_groupext.scheduler.nova import hosts
from tests.functional import base
from tests.functional import exclusive_groups


class TestTrouble(exclusive_groups.KeepingCase):
    # A member on each host of the rack, and as much again that is free.
    TOPOLOGY = {
        'members': {'a': base.member('m1.xlarge', count=2)},
        'policies': [
            {'type': 'affinity', 'scope': 'rack'},
            {'type': 'anti-affinity', 'scope': 'host'},
            {'type': 'exclusive', 'scope': 'rack'},
        ],
    }

    def remove_fillers(self):
        """Return {host: VCPU of a filler of it that has ended}."""
        removed = {}
        for host in self.ALONE:
            placeholder = self.filler_of('VCPU', host)
            objects.VRTHold.dismiss(self.context, [placeholder])
            self.cloud.placement.delete(f'/allocations/{placeholder.uuid}')
            [each] = placeholder.allocations.values()
            removed[host] = each['resources']['VCPU']
        return removed

    def assert_only_the_other_is_kept(self, removed):
        """What is unknown is not touched."""
        self.assertEqual(
            {'cmp-1': removed['cmp-1'], 'cmp-2': 0, 'cmp-3': 16}, self.free()
        )

    def test_a_cell_that_does_not_answer_leaves_the_other_hosts_kept(self):
        removed = self.remove_fillers()
        nodes = hosts.nodes

        def fail(context, host):
            if host == 'cmp-1':
                exclusive_groups.no_answer()
            return nodes(context, host)

        with fixtures.MockPatchObject(hosts, 'nodes', fail):
            self.keep()

        self.assert_only_the_other_is_kept(removed)
        self.keep()
        self.assert_alone()

    def test_a_provider_without_an_answer_leaves_the_other_hosts_kept(self):
        removed = self.remove_fillers()
        bad = self.cloud.provider('cmp-1')

        with base.silent_about(bad, 'inventories'):
            self.keep()

        self.assert_only_the_other_is_kept(removed)
        self.keep()
        self.assert_alone()

    def test_one_who_lost_a_race_looks_again(self):
        self.remove_fillers()
        racers = ['cmp-1']

        def trap(point):
            if point == 'before hold.post' and racers:
                self.fill(racers.pop(), VCPU=1)

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.keep()

        self.assertEqual(1, len(self.strangers))
        self.assert_alone()

    def test_who_loses_every_race_looks_again_in_the_next_round(self):
        self.remove_fillers()
        faster = []

        def trap(point):
            if point == 'before hold.post':
                faster.append(self.fill('cmp-1', VCPU=1))

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', trap):
            self.keep()
        # Three for that host, and one for the other.
        self.assertEqual(4, len(faster))
        self.assertEqual({'cmp-1': 4, 'cmp-2': 0, 'cmp-3': 16}, self.free())

        self.keep()
        self.assert_alone()

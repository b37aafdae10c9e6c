# SPDX-License-Identifier: Apache-2.0
"""Maintenance of exclusive hosts of which one fails or is contended."""

import fixtures

from nova_groupext.objects import placeholder_holds
from nova_groupext.scheduler.nova import hosts
from tests.functional import base
from tests.later import exclusive_groups


class TestFailures(exclusive_groups.MaintenanceTestCase):
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
        """Remove a placeholder on each host; returns {host: its VCPU}."""
        removed = {}
        for host in self.EXCLUSIVE_HOSTS:
            placeholder = self.placeholder_with('VCPU', host)
            placeholder_holds.release(self.context, [placeholder])
            self.cloud.placement.delete(f'/allocations/{placeholder.uuid}')
            [each] = placeholder.allocations.values()
            removed[host] = each['resources']['VCPU']
        return removed

    def assert_only_the_other_is_kept(self, removed):
        """Expect that only the host that answered is filled."""
        self.assertEqual(
            {'cmp-1': removed['cmp-1'], 'cmp-2': 0, 'cmp-3': 16}, self.free()
        )

    def test_unavailable_cell_does_not_affect_other_hosts(self):
        removed = self.remove_fillers()
        nodes = hosts.nodes

        def fail(context, host):
            if host == 'cmp-1':
                exclusive_groups.raise_connection_error()
            return nodes(context, host)

        with fixtures.MockPatchObject(hosts, 'nodes', fail):
            self.maintain()

        self.assert_only_the_other_is_kept(removed)
        self.maintain()
        self.assert_hosts_full()

    def test_unavailable_provider_does_not_affect_other_hosts(self):
        removed = self.remove_fillers()
        bad = self.cloud.provider('cmp-1')

        with base.fail_query(bad, 'inventories'):
            self.maintain()

        self.assert_only_the_other_is_kept(removed)
        self.maintain()
        self.assert_hosts_full()

    def test_lost_race_with_a_foreign_consumer_is_retried(self):
        self.remove_fillers()
        racers = ['cmp-1']

        def handler(point):
            if point == 'before hold.post' and racers:
                self.fill(racers.pop(), VCPU=1)

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.maintain()

        self.assertEqual(1, len(self.foreign_hosts))
        self.assert_hosts_full()

    def test_repeatedly_lost_race_is_retried_in_the_next_round(self):
        self.remove_fillers()
        faster = []

        def handler(point):
            if point == 'before hold.post':
                faster.append(self.fill('cmp-1', VCPU=1))

        with fixtures.MonkeyPatch(
            'nova_groupext.faultpoints.handler', handler
        ):
            self.maintain()
        # Three for that host, and one for the other.
        self.assertEqual(4, len(faster))
        self.assertEqual({'cmp-1': 4, 'cmp-2': 0, 'cmp-3': 16}, self.free())

        self.maintain()
        self.assert_hosts_full()

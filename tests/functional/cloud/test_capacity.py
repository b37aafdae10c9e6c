# SPDX-License-Identifier: Apache-2.0
"""Capacity of the try-out cloud in Placement."""

from keystoneauth1.exceptions import http

from nova_groupext.cloud import hosts
from tests.functional import foreign_consumers
from tests.functional.cloud import base


class TestCapacity(base.CloudTestCase):
    """Two hosts of known capacity."""

    HOSTS = (
        hosts.Host('cmp-1', vcpus=10, ram_mb=20000, disk_gb=400),
        hosts.Host('cmp-2', vcpus=12, ram_mb=20000, disk_gb=400),
    )

    def fill(self, host, **resources):
        consumer = foreign_consumers.fill(self.cloud, host, **resources)
        self.addCleanup(
            self.cloud.placement.delete, f'/allocations/{consumer}'
        )
        return consumer

    def test_free_capacity_of_an_empty_host_is_the_described_one(self):
        expected = {'VCPU': 10, 'MEMORY_MB': 20000, 'DISK_GB': 400}

        self.assertEqual(expected, self.cloud.free('cmp-1'))

    def test_fill_occupies_exactly_the_named_resources(self):
        consumer = self.fill('cmp-1', VCPU=7, DISK_GB=1)

        expected = {'VCPU': 3, 'MEMORY_MB': 20000, 'DISK_GB': 399}
        self.assertEqual(expected, self.cloud.free('cmp-1'))
        [allocation] = self.allocations(consumer).values()
        self.assertEqual({'VCPU': 7, 'DISK_GB': 1}, allocation['resources'])

    def test_fill_beyond_the_free_capacity_is_refused(self):
        self.assertRaises(http.Conflict, self.fill, 'cmp-1', VCPU=11)

    def test_server_beyond_the_free_capacity_finds_no_valid_host(self):
        self.fill('cmp-1', VCPU=7)
        self.fill('cmp-2', VCPU=9)

        refused = self.boot('m1.large')
        fits = self.boot('m1.medium')

        self.assertEqual('ERROR', refused.status)
        self.assertIn('No valid host', refused.fault['message'])
        self.assertEqual('ACTIVE', fits.status)

    def test_placement_refuses_a_tenant(self):
        demo = self.cloud.session('demo')

        self.assertRaises(
            http.Forbidden,
            demo.get,
            '/resource_providers',
            endpoint_filter={'service_type': 'placement'},
        )

    def test_placement_refuses_a_request_without_a_token(self):
        demo = self.cloud.session('demo')

        self.assertRaises(
            http.Unauthorized,
            demo.get,
            f'{self.cloud.url}/placement/resource_providers',
            authenticated=False,
        )

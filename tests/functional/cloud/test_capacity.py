# SPDX-License-Identifier: Apache-2.0
"""Does the cloud have exactly the capacity that was described?"""

from keystoneauth1.exceptions import http

from nova_groupext.cloud import hosts
from tests.functional.cloud import base


class TestCapacity(base.CloudTestCase):
    """Placement's numbers are exactly those of the described hosts."""

    HOSTS = (
        hosts.Host('cmp-1', vcpus=10, ram_mb=20000, disk_gb=400),
        hosts.Host('cmp-2', vcpus=12, ram_mb=20000, disk_gb=400),
    )

    def fill(self, host, **resources):
        consumer = self.cloud.fill(host, **resources)
        self.addCleanup(
            self.cloud.placement.delete, f'/allocations/{consumer}'
        )
        return consumer

    def test_free_is_what_was_described(self):
        expected = {'VCPU': 10, 'MEMORY_MB': 20000, 'DISK_GB': 400}

        self.assertEqual(expected, self.cloud.free('cmp-1'))

    def test_fill_occupies_exactly(self):
        consumer = self.fill('cmp-1', VCPU=7, DISK_GB=1)

        expected = {'VCPU': 3, 'MEMORY_MB': 20000, 'DISK_GB': 399}
        self.assertEqual(expected, self.cloud.free('cmp-1'))
        [allocation] = self.allocations(consumer).values()
        self.assertEqual({'VCPU': 7, 'DISK_GB': 1}, allocation['resources'])

    def test_fill_refuses_too_much(self):
        self.assertRaises(http.Conflict, self.fill, 'cmp-1', VCPU=11)

    def test_too_large_finds_no_valid_host(self):
        self.fill('cmp-1', VCPU=7)
        self.fill('cmp-2', VCPU=9)

        refused = self.boot('m1.large')
        fits = self.boot('m1.medium')

        self.assertEqual('ERROR', refused.status)
        self.assertIn('No valid host', refused.fault['message'])
        self.assertEqual('ACTIVE', fits.status)

    def test_placement_is_for_admins(self):
        demo = self.cloud.session('demo')

        self.assertRaises(
            http.Forbidden,
            demo.get,
            '/resource_providers',
            endpoint_filter={'service_type': 'placement'},
        )

    def test_placement_asks_for_a_token(self):
        demo = self.cloud.session('demo')

        self.assertRaises(
            http.Unauthorized,
            demo.get,
            f'{self.cloud.url}/placement/resource_providers',
            authenticated=False,
        )

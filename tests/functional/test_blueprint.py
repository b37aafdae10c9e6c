# SPDX-License-Identifier: Apache-2.0
"""A group that fits only when its servers are placed together."""

from nova_groupext.cloud import hosts
from tests.functional import base


class TestBlueprint(base.GroupTestCase):
    """Servers of 8, 6 and 6 VCPU; hosts with 10 and 12 free."""

    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=10),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=12),
    )
    SIZES = {'large': 8, 'first': 6, 'second': 6}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for vcpus in set(cls.SIZES.values()):
            cls.cloud.nova('admin').flavors.create(
                f'vcpus-{vcpus}', 1024, vcpus, 1
            )

    def test_group_is_placed_where_servers_one_by_one_fail(self):
        one_by_one = [
            self.boot(f'vcpus-{size}') for size in self.SIZES.values()
        ]

        self.assertEqual(
            ['ACTIVE', 'ACTIVE', 'ERROR'],
            [server.status for server in one_by_one],
        )
        self.assertIn('No valid host', one_by_one[2].fault['message'])
        for server in one_by_one:
            self.delete_servers(server)
        self.eventually(
            self.free, lambda free: free == {'cmp-1': 10, 'cmp-2': 12}
        )

        members = {
            name: base.member(f'vcpus-{size}')
            for name, size in self.SIZES.items()
        }
        group = self.hold_group({'members': members})

        planned = self.planned_hosts(group['id'])
        self.assertEqual(
            {'large': 'cmp-1', 'first': 'cmp-2', 'second': 'cmp-2'}, planned
        )
        for name, size in self.SIZES.items():
            server = self.redeem(group['id'], name, f'vcpus-{size}')
            self.assertEqual('ACTIVE', server.status, vars(server))
            self.assertEqual(planned[name], self.host_of(server))
        self.assertEqual('ACTIVE', self.group(group['id'])['status'])

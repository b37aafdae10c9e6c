# SPDX-License-Identifier: Apache-2.0
"""Servers whose hints name several members."""

from concurrent import futures

from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from tests.functional import base

TOPOLOGY = {
    'members': {'db': base.member('m1.small')},
    'groups': {'workers': {'members': {'worker': base.member(count=4)}}},
}
STEM = 'workers/worker'


class TestMultiCreate(base.GroupTestCase):
    PARTS = base.WITHOUT_REAPER
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=8),
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(TOPOLOGY)['id']
        self.nova = self.cloud.nova('demo')
        self.was_free = sum(self.free().values())

    def create_all(self, path, count, **kwargs):
        """Create servers with one request, without waiting for them."""
        reservation = self.nova.servers.create(
            'many',
            image.image_id('cirros'),
            self.nova.flavors.find(name='m1.tiny'),
            nics='none',
            min_count=count,
            reservation_id=True,
            scheduler_hints=base.member_hints(self.uuid, path),
            **kwargs,
        )
        created = self.nova.servers.list(
            search_opts={'reservation_id': reservation}
        )
        self.assertEqual(count, len(created))
        for server in created:
            self.addCleanup(self.delete_servers, server)
        return created

    def boot_all(self, path, count):
        return [
            self.wait_for_build(each) for each in self.create_all(path, count)
        ]

    def servers(self):
        """Return {path: server id} of the members in ACTIVE."""
        return {
            member['path']: member['server_id']
            for member in self.group(self.uuid)['members']
            if member['status'] == 'ACTIVE'
        }

    def assert_placed(self, *servers):
        """Expect that each server is a member's, on its planned host."""
        planned = self.planned_hosts(self.uuid)
        member_of = {uuid: path for path, uuid in self.servers().items()}
        self.assertEqual({s.id for s in servers}, member_of.keys())
        for server in servers:
            self.assertEqual('ACTIVE', server.status, vars(server))
            path = member_of[server.id]
            self.assertEqual(planned[path], self.host_of(server))
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_each_server_gets_a_member_of_its_own(self):
        self.assert_placed(*self.boot_all(STEM, 3))

        self.assertEqual(
            {f'{STEM}-{number}' for number in range(3)}, self.servers().keys()
        )
        self.assertEqual('HELD', self.group(self.uuid)['status'])

    def test_subgroup_name_selects_all_of_its_members(self):
        self.assert_placed(*self.boot_all('workers', 4))

    def test_single_server_gets_any_free_member(self):
        first = self.redeem(self.uuid, STEM, 'm1.tiny')
        second = self.redeem(self.uuid, f'{STEM}-1', 'm1.tiny')
        third = self.redeem(self.uuid, 'workers', 'm1.tiny')

        self.assert_placed(first, second, third)
        self.assertEqual(third.id, self.servers()[f'{STEM}-2'])

    def test_concurrent_requests_get_different_members(self):
        with futures.ThreadPoolExecutor(2) as pool:
            halves = [*pool.map(self.boot_all, [STEM, 'workers'], [2, 2])]

        self.assert_placed(*halves[0], *halves[1])

    def test_member_whose_host_is_refused_is_skipped(self):
        apart = {
            'members': {'a': base.member(count=2)},
            'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
        }
        self.uuid = self.hold_group(apart)['id']
        self.disable(self.planned_hosts(self.uuid)['a-0'])

        server = self.redeem(self.uuid, 'a', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'a-1': server.id}, self.servers())

    def disable(self, host):
        services = self.cloud.nova('admin').services
        [found] = services.list(host=host, binary='nova-compute')
        services.disable(found.id)
        self.addCleanup(services.enable, found.id)

    def test_servers_all_fail_if_one_has_no_host(self):
        """All servers are in ERROR, as in Nova, and no hold is lost."""
        for host in ('cmp-1', 'cmp-2'):
            self.disable(host)

        for server in self.boot_all(STEM, 3):
            self.assertEqual('ERROR', server.status)
            self.assertIn("Nova's filters refuse", server.fault['message'])

        self.assertEqual({}, self.servers())
        self.assertEqual(self.was_free, sum(self.free().values()))

# SPDX-License-Identifier: Apache-2.0
"""A group of 1,000 members: described, booted, released and removed."""

import collections

from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from tests import shares
from tests.functional import base

MEMBERS = max(1000 // shares.SHARE, 50)
# So many of them never get a server.
VACANT = MEMBERS // 10
# Servers of one request.
AT_ONCE = 10
HOSTS = 10
MAX_PER_HOST = MEMBERS // HOSTS + 10
PAGE = 100
APART = {
    'type': 'anti-affinity',
    'scope': 'host',
    'max_per_domain': MAX_PER_HOST,
    'strict': True,
}


class TestThousandServers(base.GroupTestCase):
    HOSTS = tuple(
        hosts.Host(f'cmp-{n}', f'r{n % 5}', 'az1', vcpus=130, ram_mb=2**18)
        for n in range(HOSTS)
    )

    def setUp(self):
        super().setUp()
        self.nova = self.cloud.nova('demo')
        # One by one, deletes would take longer than the test.
        self.booted = []
        self.addCleanup(lambda: self.delete_servers(*self.booted))

    def boot(self, uuid, number):
        """Boot servers by the set's name, and wait for them."""
        reservation = self.nova.servers.create(
            'many',
            image.image_id('cirros'),
            self.nova.flavors.find(name='m1.tiny'),
            nics='none',
            min_count=number,
            reservation_id=True,
            scheduler_hints=base.member_hints(uuid, 'w'),
        )
        for server in self.nova.servers.list(
            search_opts={'reservation_id': reservation}
        ):
            self.booted.append(server)
            built = self.wait_for_build(server)
            self.assertEqual('ACTIVE', built.status, vars(built))

    def members(self, uuid):
        """Return the members, read by pages."""
        found, marker = [], ''
        while page := self.page(uuid, marker):
            found += page
            marker = f'&marker={page[-1]["path"]}'
        return found

    def page(self, uuid, marker):
        response = self.api().get(
            f'{base.GROUPS}/{uuid}/members?limit={PAGE}{marker}'
        )
        self.assertEqual(200, response.status_code, response.text)
        return response.json()['members']

    def counts(self, uuid):
        return collections.Counter(e['status'] for e in self.members(uuid))

    def test_servers_are_where_their_members_were_planned(self):
        was_free = sum(self.free().values())
        topology = {
            'members': {'w': base.member(count=MEMBERS)},
            'policies': [APART],
        }

        uuid = self.hold_group(topology)['id']

        self.assertEqual({'HELD': MEMBERS}, self.counts(uuid))
        self.assertEqual(was_free - MEMBERS, sum(self.free().values()))
        planned = self.planned_hosts(uuid)

        left = MEMBERS - VACANT
        while left:
            self.boot(uuid, min(left, AT_ONCE))
            left -= min(left, AT_ONCE)

        members = self.members(uuid)
        self.assertEqual(
            {'ACTIVE': MEMBERS - VACANT, 'HELD': VACANT}, self.counts(uuid)
        )
        host_of = {
            each.id: getattr(each, 'OS-EXT-SRV-ATTR:host')
            for each in self.cloud.nova('admin').servers.list(
                search_opts={'all_tenants': 1}, limit=-1
            )
        }
        servers = {
            each['path']: each['server_id']
            for each in members
            if each['status'] == 'ACTIVE'
        }
        self.assertEqual(len(servers), len({*servers.values()}))
        self.assertEqual(
            {path: planned[path] for path in servers},
            {path: host_of[server] for path, server in servers.items()},
        )
        self.assertEqual(was_free - MEMBERS, sum(self.free().values()))

        response = self.act(uuid, 'release')

        self.assertEqual(202, response.status_code, response.text)
        self.eventually(
            lambda: self.counts(uuid),
            lambda counts: (
                counts == {'ACTIVE': MEMBERS - VACANT, 'RELEASED': VACANT}
            ),
        )
        self.assertEqual(
            was_free - (MEMBERS - VACANT), sum(self.free().values())
        )

        self.delete_group(uuid)

        # The servers stay, and keep what they have.
        self.assertEqual(
            was_free - (MEMBERS - VACANT), sum(self.free().values())
        )

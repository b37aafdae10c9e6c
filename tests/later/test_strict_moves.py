# SPDX-License-Identifier: Apache-2.0
"""Every kind of move under every strict policy."""

import collections

from testtools import matchers

from nova_groupext.cloud import hosts
from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import moves
from tests.functional import revising

STRICT = {
    'affinity': moves.group(2, moves.policy('affinity', 'rack')),
    'anti-affinity': moves.group(3, moves.policy('anti-affinity', 'host')),
    'spread': moves.group(4, moves.policy('spread', 'rack', min_domains=2)),
    'survive': moves.group(3, moves.policy('survive', 'host', min_members=2)),
    'network-proximity': {
        'members': {'m': base.member(), 'n': base.member()},
        'relationships': [
            {
                'name': 'chat',
                'between': ['m', 'n'],
                'policies': [moves.policy('network-proximity', 'rack')],
            }
        ],
    },
}


class TestStrict(moves.MovingTestCase):
    """Moves that find no host if they would break a policy.

    Each kind of policy has a test, in which one group goes through all moves,
    so that it is built once.
    """

    def check(self, kind):
        uuid, servers = self.create_group_servers(STRICT[kind])
        first = min(servers)
        mover = servers.pop(first)
        for way in moves.ACTIONS:
            self.check_move(way, kind, mover, servers)
            self.follow()
            now = self.hosts_of({first: mover, **servers})
            self.expectThat(
                self.planned_hosts(uuid),
                matchers.Equals(now),
                f'{way}: the plan',
            )

    def check_move(self, way, kind, mover, others):
        """Move a server while the permitted hosts are full, and when free."""
        lawful = self.lawful(kind, self.hosts_of(others).values())
        if way == 'unshelve':
            self.shelve(mover)
            self.follow()
        placeholder_holds = self.fill_up(lawful)

        outcome, _status = self.move(way, mover)
        self.expectThat(
            outcome,
            matchers.Equals('Error'),
            f'{way}: to {self.host_of(mover)}, lawful are {lawful}',
        )

        for consumer in placeholder_holds:
            self.cloud.placement.delete(f'/allocations/{consumer}')
        self.expectThat(
            self.move(way, mover),
            matchers.Equals(('Success', 'ACTIVE')),
            f'{way}: with room',
        )
        self.expectThat(
            lawful, matchers.Contains(self.host_of(mover)), f'{way}: with room'
        )

    @staticmethod
    def lawful(kind, others):
        """Return the hosts to which the remaining member may move."""
        racks = {host.name: host.rack for host in moves.HOSTS}
        if kind in ('anti-affinity', 'survive'):
            return {host for host in racks if host not in others}
        used = collections.Counter(racks[host] for host in others)
        # One rack for all, or two with as many members each.
        [*_more, (rack, _least)] = used.most_common()
        return {host for host in racks if racks[host] == rack}

    def fill_up(self, hosts):
        """Fill some hosts; returns the consumers that fill them."""
        placeholder_holds = [
            foreign_consumers.fill(self.cloud, host, VCPU=free)
            for host, free in self.free().items()
            if host in hosts and free
        ]
        for consumer in placeholder_holds:
            self.delete_allocations_later(consumer)
        return placeholder_holds


for _kind in STRICT:
    setattr(
        TestStrict,
        f'test_moves_keep_{_kind.replace("-", "_")}',
        lambda self, kind=_kind: self.check(kind),
    )


class TestUnshelvedTo(moves.MovingTestCase, revising.RevisingTestCase):
    """Unshelves to a host or zone, of a server that is to be resized."""

    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
        # The weighers prefer this one.
        hosts.Host('cmp-3', 'r2', 'az2', vcpus=32),
    )
    REFUSED = ('Error', 'SHELVED_OFFLOADED')
    UNSHELVED = ('Success', 'ACTIVE')

    def test_strict_policy_restricts_requested_hosts_and_zones(self):
        apart = [moves.policy('anti-affinity', 'host')]
        small = moves.group(2, *apart)
        uuid, servers = self.create_group_servers(small)
        server_on = {self.host_of(each): each for each in servers.values()}
        server_on.pop('cmp-3')
        [(home, server)] = server_on.items()
        larger = {'m': base.member('m1.medium', count=2)}
        self.put_revision(uuid, {'members': larger, 'policies': apart})

        self.shelve(server)
        self.assertEqual(self.REFUSED, self.unshelve_to(server, host='cmp-3'))
        self.assertEqual(self.UNSHELVED, self.unshelve_to(server, host=home))
        self.assertEqual(home, self.host_of(server))

        self.shelve(server)
        for zone, outcome in ('az2', self.REFUSED), ('az1', self.UNSHELVED):
            self.assertEqual(
                outcome, self.unshelve_to(server, availability_zone=zone)
            )
        self.assertIn(self.host_of(server), {'cmp-1', 'cmp-2'})

        self.follow()
        # This releases the reservations for the resize.
        self.put_revision(uuid, small)

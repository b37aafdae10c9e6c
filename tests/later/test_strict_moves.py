# SPDX-License-Identifier: Apache-2.0
"""Every kind of move under every strict policy."""

import collections

from testtools import matchers

from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import moves

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

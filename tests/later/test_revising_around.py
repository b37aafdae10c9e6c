# SPDX-License-Identifier: Apache-2.0
"""Is a group revised around servers that are shelved, or in the way?"""

from tests.functional import base
from tests.functional import moves
from tests.functional import revising
from tests.later import adopting

APART = {'type': 'anti-affinity', 'scope': 'host'}


def apart(**counts):
    members = {stem: base.member(count=n) for stem, n in counts.items()}
    return {'members': members, 'policies': [APART]}


class TestShelved(moves.MovingTestCase, revising.RevisingTestCase):
    HOSTS = moves.HOSTS

    def setUp(self):
        super().setUp()
        self.uuid, servers = self.servers(apart(a=2))
        self.server, other = servers['a-0'], servers['a-1']
        self.others_host = self.host_of(other)
        self.shelve(self.server)
        self.follow()

    def test_others_are_held_and_it_comes_back_to_where_there_is_room(self):
        """All hosts but one are taken, and that one is left to it."""
        group = self.revised(self.uuid, apart(a=2, b=2))

        self.assertEqual(
            {'a-0': 'SHELVED', 'a-1': 'ACTIVE', 'b-0': 'HELD', 'b-1': 'HELD'},
            self.states(group),
        )
        planned = self.planned(self.uuid)
        taken = {planned[path] for path in ('a-1', 'b-0', 'b-1')}
        self.assertEqual(3, len(taken))

        self.assertEqual(
            ('Success', 'ACTIVE'), self.move('unshelve', self.server)
        )
        self.assertNotIn(self.host_of(self.server), taken)
        self.follow()
        self.assertEqual('ACTIVE', self.states(self.group(self.uuid))['a-0'])

    def test_it_is_neither_dropped_nor_described_anew(self):
        without = {'members': {'a-1': base.member()}}
        larger = {'members': {'a': base.member('m1.medium', count=2)}}

        for topology in (without, larger):
            self.assertRefused(
                409, 'Member a-0', self.put(self.uuid, topology)
            )


class TestShelvedMeanwhile(adopting.AdoptingTestCase):
    def test_who_is_shelved_by_now_is_not_described_anew(self):
        one = {'members': {'a': base.member()}}
        server = self.server()
        uuid = self.grouped(one, hold=False)
        self.adopt(uuid, {'a': server})
        larger = {'members': {'a': base.member('m1.medium')}}
        draft = self.drafted(uuid, larger)
        self.shelve(server)
        self.follow()

        self.plan(draft)

        group = self.group(uuid)
        self.assertEqual(one, group['topology'])
        self.assertEqual('UNDECIDED', group['revision']['status'])
        self.assertIn(
            'Member a is SHELVED', group['revision']['fault']['message']
        )


class TestMoving(moves.MovingTestCase, revising.RevisingTestCase):
    HOSTS = moves.HOSTS

    def test_who_comes_gets_a_place_where_no_move_may_end(self):
        uuid, servers = self.servers(apart(a=2))
        source, others_host = self.where(servers).values()
        self.cloud.nova('admin').servers.migrate(servers['a-0'])
        self.assertEqual('Success', self.ended(servers['a-0']))
        target = self.host_of(self.settled(servers['a-0']))
        names = {host.name for host in self.HOSTS}
        [last] = names - {source, others_host, target}
        # Where there is more room one had rather be.
        self.boot('m1.large', user='admin', availability_zone=f'az1:{last}')

        self.revised(uuid, apart(a=2, b=1))

        self.assertEqual(last, self.planned(uuid)['b-0'])


class TestDrifted(moves.MovingTestCase, revising.RevisingTestCase):
    HOSTS = moves.HOSTS

    def test_what_servers_break_is_refused_unless_it_is_relaxed(self):
        uuid, servers = self.servers(apart(a=2))
        self.force(servers['a-0'], self.host_of(servers['a-1']))
        self.follow()

        revision = self.decided(uuid, apart(a=3))['revision']

        self.assertEqual('REFUSED', revision['status'])
        self.assertEqual('vrt.pinned', revision['refusal']['reason']['code'])
        self.assertIn('anti-affinity', str(revision['refusal']['conflict']))

        relaxed = [{**APART, 'strict': False}]
        group = self.revised(uuid, {**apart(a=3), 'policies': relaxed})

        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'ACTIVE', 'a-2': 'HELD'},
            self.states(group),
        )

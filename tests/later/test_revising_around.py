# SPDX-License-Identifier: Apache-2.0
"""Revisions around servers that are shelved, moving or drifted."""

from tests.functional import base
from tests.functional import moves
from tests.functional import revising
from tests.later import adopting

APART = {'type': 'anti-affinity', 'scope': 'host'}


def apart(**counts):
    members = {
        member_set: base.member(count=n) for member_set, n in counts.items()
    }
    return {'members': members, 'policies': [APART]}


class TestShelved(moves.MovingTestCase, revising.RevisingTestCase):
    HOSTS = moves.HOSTS

    def setUp(self):
        super().setUp()
        self.uuid, servers = self.create_group_servers(apart(a=2))
        self.server, other = servers['a-0'], servers['a-1']
        self.others_host = self.host_of(other)
        self.shelve(self.server)
        self.follow()

    def test_revision_keeps_a_host_for_a_shelved_server(self):
        """The revision leaves one host for the shelved server."""
        group = self.put_revision(self.uuid, apart(a=2, b=2))

        self.assertEqual(
            {'a-0': 'SHELVED', 'a-1': 'ACTIVE', 'b-0': 'HELD', 'b-1': 'HELD'},
            self.member_statuses(group),
        )
        planned = self.planned_hosts(self.uuid)
        taken = {planned[path] for path in ('a-1', 'b-0', 'b-1')}
        self.assertEqual(3, len(taken))

        self.assertEqual(
            ('Success', 'ACTIVE'), self.move('unshelve', self.server)
        )
        self.assertNotIn(self.host_of(self.server), taken)
        self.follow()
        self.assertEqual(
            'ACTIVE', self.member_statuses(self.group(self.uuid))['a-0']
        )

    def test_flavor_of_a_shelved_member_is_not_changed(self):
        larger = {'members': {'a': base.member('m1.medium', count=2)}}

        self.assertRefused(409, 'Member a-0', self.put(self.uuid, larger))

    def test_shelved_member_that_is_left_out_leaves(self):
        group = self.put_revision(self.uuid, {'members': {'b': base.member()}})

        self.assertEqual(
            {'b': 'HELD', 'a-0': 'LEAVING', 'a-1': 'LEAVING'},
            self.member_statuses(group),
        )


class TestShelvedMeanwhile(adopting.AdoptingTestCase):
    def test_revision_of_a_concurrently_shelved_server_is_undecided(self):
        one = {'members': {'a': base.member()}}
        server = self.create_foreign_server()
        uuid = self.plan_group(one, hold=False)
        self.adopt(uuid, {'a': server})
        larger = {'members': {'a': base.member('m1.medium')}}
        draft = self.put_draft(uuid, larger)
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

    def test_new_member_avoids_source_and_target_of_a_move(self):
        uuid, servers = self.create_group_servers(apart(a=2))
        source, others_host = self.hosts_of(servers).values()
        self.cloud.nova('admin').servers.migrate(servers['a-0'])
        self.assertEqual('Success', self.wait_for_action(servers['a-0']))
        target = self.host_of(self.wait_until_idle(servers['a-0']))
        names = {host.name for host in self.HOSTS}
        [last] = names - {source, others_host, target}
        # The weighers prefer hosts with more free capacity.
        self.boot('m1.large', user='admin', availability_zone=f'az1:{last}')

        self.put_revision(uuid, apart(a=2, b=1))

        self.assertEqual(last, self.planned_hosts(uuid)['b-0'])


class TestDrifted(moves.MovingTestCase, revising.RevisingTestCase):
    HOSTS = moves.HOSTS

    def test_revision_with_drift_is_refused_unless_it_is_relaxed(self):
        uuid, servers = self.create_group_servers(apart(a=2))
        self.force_live_migration(servers['a-0'], self.host_of(servers['a-1']))
        self.follow()

        revision = self.put_and_wait(uuid, apart(a=3))['revision']

        self.assertEqual('REFUSED', revision['status'])
        self.assertEqual('vrt.pinned', revision['refusal']['reason']['code'])
        self.assertIn('anti-affinity', str(revision['refusal']['conflict']))

        relaxed = [{**APART, 'strict': False}]
        group = self.put_revision(uuid, {**apart(a=3), 'policies': relaxed})

        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'ACTIVE', 'a-2': 'HELD'},
            self.member_statuses(group),
        )

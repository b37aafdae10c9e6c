# SPDX-License-Identifier: Apache-2.0
"""Moves of servers of groups: strict policies, rows, drift and proposals."""

import threading

import fixtures
from nova import exception as nova_exc
from nova.compute import manager as compute_manager

from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import states
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.nova import host_domains
from tests.functional import base
from tests.functional import moves

PREPARE = 'nova.compute.manager.ComputeManager._prep_resize'


class ApartTestCase(moves.MovingTestCase):
    """Three members on three of four hosts, with strict anti-affinity."""

    APART = moves.group(3, moves.policy('anti-affinity', 'host'))

    def setUp(self):
        super().setUp()
        self.uuid, self.members = self.create_group_servers(self.APART)
        self.first, self.second, self.third = self.members.values()
        self.home = self.host_of(self.first)
        self.other = self.host_of(self.second)
        names = {host.name for host in moves.HOSTS}
        [self.free_one] = names - {*self.hosts_of(self.members).values()}

    def migrate_and_wait(self, server):
        """Migrate without confirming."""
        self.cloud.nova('admin').servers.migrate(server)
        self.assertEqual('Success', self.wait_for_action(server))
        return self.wait_until_idle(server)

    def moves(self):
        """Return the target hosts of the recorded moves."""
        group = objects.VRTGroup.get(self.context, self.uuid)
        found = objects.VRTMove.list_by_group(self.context, group.id)
        return [move.host for move in found]

    def statuses(self):
        members = self.group(self.uuid)['members']
        return [each['status'] for each in members]


class TestUnderWay(ApartTestCase):
    def test_concurrent_moves_to_the_last_host_admit_one(self):
        both = threading.Barrier(2, timeout=30)
        claim = destinations.claim

        def claim_together(*args):
            both.wait()
            return claim(*args)

        self.patch(destinations, 'claim', claim_together)
        admin = self.cloud.nova('admin').servers
        for server in (self.first, self.second):
            admin.migrate(server)

        ends = [
            self.wait_for_action(each) for each in (self.first, self.second)
        ]
        for server in (self.first, self.second):
            self.wait_until_idle(server)

        self.assertEqual(['Error', 'Success'], sorted(ends))
        used = [*self.hosts_of(self.members).values()]
        self.assertEqual(3, len({*used}), used)
        self.assertIn(self.free_one, used)
        self.assertEqual([self.free_one], self.moves())

    def test_source_and_target_count_until_a_move_is_confirmed(self):
        moved = self.migrate_and_wait(self.first)
        self.assertEqual(self.free_one, self.host_of(self.first))

        self.cloud.nova('admin').servers.migrate(self.second)
        self.assertEqual('Error', self.wait_for_action(self.second))
        self.wait_until_idle(self.second)
        moved.confirm_resize()
        self.eventually(
            self.wait_until_idle,
            lambda now: now.status == 'ACTIVE',
            self.first,
        )
        self.migrate_and_wait(self.second)

        self.assertEqual(self.home, self.host_of(self.second))

    def test_reverted_move_restores_the_plan(self):
        planned = self.planned_hosts(self.uuid)
        moved = self.migrate_and_wait(self.first)
        self.assertEqual([self.free_one], self.moves())

        moved.revert_resize()
        self.eventually(
            self.wait_until_idle,
            lambda now: now.status == 'ACTIVE',
            self.first,
        )
        self.follow()

        self.assertEqual([], self.moves())
        self.assertEqual(planned, self.planned_hosts(self.uuid))
        self.migrate_and_wait(self.second)
        self.assertEqual(self.free_one, self.host_of(self.second))

    def test_rebuild_with_another_image_stays_on_its_host(self):
        """The other members use all other hosts but one."""
        planned = self.planned_hosts(self.uuid)
        image = self.make_image()

        admin = self.cloud.nova('admin').servers.get(self.first)
        admin.rebuild(image)

        self.assertEqual(
            'Success', self.wait_for_action(self.first, 'rebuild')
        )
        now = self.wait_until_idle(self.first)
        self.assertEqual(
            ('ACTIVE', image, self.home),
            (now.status, now.image['id'], self.host_of(now)),
        )
        self.follow()
        self.assertEqual([], self.moves())
        self.assertEqual(planned, self.planned_hosts(self.uuid))
        self.assertEqual(['ACTIVE'] * 3, self.statuses())

    def make_image(self):
        """Return the id of an image from which no server was created."""
        session = self.cloud.nova('admin').client.session
        images = {'endpoint_filter': {'service_type': 'image'}}
        made = session.post('/v2/images', json={'name': 'other'}, **images)
        url = f'/v2/images/{made.json()["id"]}'
        self.addCleanup(session.delete, url, **images)
        return made.json()['id']

    def test_failed_move_is_removed(self):
        tried = []

        def fail(manager, *args, **kwargs):
            tried.append(manager.host)
            raise nova_exc.ComputeResourcesUnavailable(reason='no such luck')

        self.useFixture(fixtures.MonkeyPatch(PREPARE, fail))

        self.move('migrate', self.first)
        self.follow()

        self.assertEqual([self.free_one], tried)
        self.assertEqual([], self.moves())
        self.assertEqual(self.home, self.host_of(self.first))

    def test_hosts_of_held_members_count(self):
        topology = moves.group(3, moves.policy('anti-affinity', 'host'))
        uuid = self.hold_group(topology)['id']
        server = self.redeem(uuid, 'm-0', 'm1.tiny')
        held = {self.planned_hosts(uuid)[path] for path in ('m-1', 'm-2')}

        self.move('migrate', server)

        self.assertNotIn(self.host_of(server), held)

    def test_rehold_of_a_resized_member_has_its_described_flavor(self):
        self.set_option('rehold_after_server_end', True)
        self.move('resize', self.first)
        self.follow()
        place = self.host_of(self.first)

        self.delete_servers(self.first)
        self.follow()

        self.assertEqual('HELD', self.statuses()[0])
        self.assertEqual(place, self.planned_hosts(self.uuid)['m-0'])
        [held] = [
            hold
            for hold in self.holds_of(self.uuid)
            if hold.status == states.Hold.HELD
        ]
        [allocation] = self.allocations(held.uuid).values()
        self.assertEqual(512, allocation['resources']['MEMORY_MB'])

    def set_option(self, name, value):
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    def test_server_of_a_deleted_group_moves_freely(self):
        self.delete_group(self.uuid)
        self.fill(self.free_one, VCPU=self.free()[self.free_one])

        outcome = self.move('migrate', self.first)

        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertIn(
            self.host_of(self.first),
            {self.other, self.host_of(self.third)},
        )

    def test_move_that_cannot_be_recorded_succeeds(self):
        self.rename_table('vrt_moves')

        outcome = self.move('migrate', self.first)

        self.assertEqual(('Success', 'ACTIVE'), outcome)


class TestShelved(ApartTestCase):
    def test_shelved_member_keeps_its_server_and_releases_its_host(self):
        self.shelve(self.first)
        self.follow()

        shelved, *_others = self.group(self.uuid)['members']
        self.assertEqual('SHELVED', shelved['status'])
        self.assertEqual(self.first.id, shelved['server_id'])
        self.assertEqual({}, shelved['domains'])
        self.assertEqual('ACTIVE', self.group(self.uuid)['status'])
        self.assertEqual([], audit.audit(self.context, self.placement_client))
        refused = self.act(self.uuid, 'release', {'members': ['m-0']})
        self.assertEqual(409, refused.status_code)
        self.move('migrate', self.second)
        self.assertIn(self.host_of(self.second), {self.home, self.free_one})

    def test_unshelved_member_is_active_on_its_new_host(self):
        self.shelve(self.first)
        self.follow()

        outcome = self.move('unshelve', self.first)
        self.follow()

        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual(['ACTIVE'] * 3, self.statuses())
        self.assertEqual(
            self.host_of(self.first), self.planned_hosts(self.uuid)['m-0']
        )
        self.assertEqual([], self.moves())

    def test_member_of_a_deleted_shelved_server_has_no_host(self):
        self.shelve(self.first)
        self.follow()

        self.delete_servers(self.first)
        self.follow()

        self.assertEqual('TENTATIVE', self.statuses()[0])


class TestDrift(ApartTestCase):
    BROKEN = [{'at': '', 'policy': {'type': 'anti-affinity', 'scope': 'host'}}]

    def compare(self):
        """Run the reaper's step that records drift; returns the drift."""
        self.follow()
        group = objects.VRTGroup.get(self.context, self.uuid)
        domains = host_domains.Domains(self.context, vrt.levels(CONF))
        drift.store(self.context, group, domains)
        return self.group(self.uuid)['drift']

    def test_forced_move_is_drift_until_it_is_mended(self):
        self.assertEqual([], self.compare())

        self.force_live_migration(self.first, self.other)
        self.assertEqual(self.BROKEN, self.compare())
        self.assertEqual(self.other, self.planned_hosts(self.uuid)['m-0'])

        # The scheduler prefers hosts that mend the drift.
        outcome = self.move('migrate', self.second)
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual([], self.compare())

    def test_move_considers_a_forced_move_not_followed_yet(self):
        self.force_live_migration(self.first, self.free_one)

        self.move('migrate', self.second)

        self.assertEqual(self.home, self.host_of(self.second))
        self.assertEqual([], self.compare())

    def test_proposal_mends_drift_with_one_move(self):
        self.force_live_migration(self.first, self.other)
        self.assertEqual(self.BROKEN, self.compare())

        tenants, admins = self.proposal(), self.proposal('admin')

        self.assertEqual(
            ('placed', True), (admins['status'], admins['fewest'])
        )
        [move] = admins['moves']
        self.assertIn(move['path'], {'m-0', 'm-1'})
        self.assertIn(move['host'], {self.home, self.free_one})
        [shown] = tenants['moves']
        self.assertNotIn('host', shown)
        self.assertNotIn(move['host'], str(tenants))

    def test_proposal_without_drift_has_no_moves(self):
        found = self.proposal()
        self.assertEqual(
            ('placed', True, []),
            (found['status'], found['fewest'], found['moves']),
        )

    def test_proposal_that_was_not_requested_is_not_found(self):
        answer = self.api().get(f'{base.GROUPS}/{self.uuid}/proposal')
        self.assertEqual(404, answer.status_code)
        self.assertIn('No proposal of server moves was requested', answer.text)

    def proposal(self, user='demo'):
        asked = self.act(self.uuid, 'propose', user=user)
        self.assertEqual(202, asked.status_code, asked.text)
        return self.eventually(
            self.proposed, lambda now: now['status'] != 'planning', user
        )

    def proposed(self, user):
        answer = self.api(user).get(f'{base.GROUPS}/{self.uuid}/proposal')
        self.assertEqual(200, answer.status_code, answer.text)
        return answer.json()['proposal']

    def test_host_that_changes_its_rack_is_drift(self):
        uuid, servers = self.create_group_servers(
            moves.group(2, moves.policy('affinity', 'rack'))
        )
        self.uuid = uuid
        [host, *_rest] = sorted({*self.hosts_of(servers).values()})
        rack = next(h.rack for h in moves.HOSTS if h.name == host)
        self.assertEqual([], self.compare())
        if len({*self.hosts_of(servers).values()}) == 1:
            self.force_live_migration(servers['m-0'], self.neighbour(host))

        self.move_host(host, rack, 'r1' if rack == 'r2' else 'r2')

        self.assertEqual(
            [{'at': '', 'policy': {'type': 'affinity', 'scope': 'rack'}}],
            self.compare(),
        )

    @staticmethod
    def neighbour(name):
        rack = {host.name: host.rack for host in moves.HOSTS}
        return next(h for h in rack if h != name and rack[h] == rack[name])

    def move_host(self, name, source, target):
        aggregates = self.cloud.nova('admin').aggregates
        by_name = {each.name: each for each in aggregates.list()}
        aggregates.remove_host(by_name[f'rack-{source}'], name)
        aggregates.add_host(by_name[f'rack-{target}'], name)
        self.addCleanup(aggregates.add_host, by_name[f'rack-{source}'], name)
        self.addCleanup(
            aggregates.remove_host, by_name[f'rack-{target}'], name
        )


class TestAlternates(moves.MovingTestCase):
    """A member that may move to several hosts."""

    def test_failed_move_under_a_strict_policy_has_no_alternates(self):
        """A cell would claim an alternate host without a policy check."""
        apart = moves.group(2, moves.policy('anti-affinity', 'host'))
        _uuid, servers = self.create_group_servers(apart)
        tried = []

        def fail(manager, *args, **kwargs):
            tried.append(manager.host)
            raise nova_exc.ComputeResourcesUnavailable(reason='no such luck')

        self.useFixture(fixtures.MonkeyPatch(PREPARE, fail))

        self.move('migrate', servers['m-0'])

        self.assertEqual(1, len(tried), tried)


class TestSoft(moves.MovingTestCase):
    def test_move_prefers_the_least_soft_cost(self):
        soft = moves.group(
            2, moves.policy('anti-affinity', 'rack', strict=False)
        )
        _uuid, servers = self.create_group_servers(soft)
        where = self.hosts_of(servers)
        racks = {host.name: host.rack for host in moves.HOSTS}
        [neighbour] = [
            name
            for name in racks
            if racks[name] == racks[where['m-0']] and name != where['m-0']
        ]
        # Nova's own weighers prefer the other hosts: another server uses
        # half of the neighbour.
        self.boot(
            'm1.large', user='admin', availability_zone=f'az1:{neighbour}'
        )

        self.move('migrate', servers['m-0'])

        self.assertEqual(neighbour, self.host_of(servers['m-0']))

    def test_failed_move_under_a_soft_policy_is_tried_on_an_alternate(self):
        soft = moves.group(
            2, moves.policy('anti-affinity', 'rack', strict=False)
        )
        _uuid, servers = self.create_group_servers(soft)
        tried = []
        prepare = compute_manager.ComputeManager._prep_resize

        def fail_once(manager, *args, **kwargs):
            tried.append(manager.host)
            if len(tried) == 1:
                raise nova_exc.ComputeResourcesUnavailable(reason='once')
            return prepare(manager, *args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(PREPARE, fail_once))

        admin = self.cloud.nova('admin').servers
        admin.migrate(servers['m-0'])
        self.eventually(
            admin.get,
            lambda now: now.status == 'VERIFY_RESIZE',
            servers['m-0'],
        )

        self.assertEqual(2, len(tried))
        self.assertEqual(tried[1], self.host_of(servers['m-0']))

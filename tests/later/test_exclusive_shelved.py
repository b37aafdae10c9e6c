# SPDX-License-Identifier: Apache-2.0
"""Shelved servers of exclusive groups, and their return."""

import datetime

import fixtures

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.resize import reservations
from tests.functional import base
from tests.functional import moves
from tests.later import exclusive_groups
from tests.later import test_revising_exclusive

ONE_HOST = {
    'members': {'a': base.member('m1.xlarge', count=1)},
    'policies': [{'type': 'exclusive', 'scope': 'host'}],
}
LONG_AGO = datetime.datetime(2020, 1, 1)


class ShelvedTestCase(
    exclusive_groups.MaintenanceTestCase,
    moves.MovingTestCase,
    test_revising_exclusive.ExclusiveTestCase,
):
    """An exclusive group with servers; ``self.server`` is one of them."""

    FLAVOR = 'm1.xlarge'

    def setUp(self):
        super().setUp()
        servers = {
            path: self.create(
                self.FLAVOR,
                user='admin',
                scheduler_hints=base.member_hints(self.uuid, path),
            )
            for path in sorted(self.planned_hosts(self.uuid))
        }
        self.addCleanup(self.delete_servers, *servers.values())
        for each in servers.values():
            self.wait_for_build(each)
        *_others, self.server = servers.values()
        self.planner = planner.Planner('a')

    def see(self):
        """Run the reaper's steps on servers, reservations and placeholders."""
        self.follow()
        reservations.follow_reservations(
            self.context, self.placement_client, self.leases
        )
        self.maintain()

    def status_of(self, path):
        members = self.group(self.uuid, 'admin')['members']
        return {each['path']: each['status'] for each in members}[path]

    def reservations(self, *statuses):
        rows = self.holds_of(self.uuid)
        return [
            r for r in rows if r.is_resize_reservation and r.status in statuses
        ]


class TestOneOfSeveral(ShelvedTestCase):
    def test_unshelved_server_returns_to_an_exclusive_host(self):
        self.shelve(self.server)
        self.see()
        self.assertEqual('SHELVED', self.status_of('a-2'))
        self.assert_hosts_full()

        outcome = self.move('unshelve', self.server)

        self.assert_hosts_full()
        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual('ACTIVE', self.status_of('a-2'))
        self.assertIn(self.host_of(self.server), self.EXCLUSIVE_HOSTS)
        self.assert_hosts_full()
        self.assertEqual('ACTIVE', self.group(self.uuid, 'admin')['status'])
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def test_server_is_unshelved_before_the_reaper_sees_it_shelved(self):
        self.shelve(self.server)

        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual('ACTIVE', self.status_of('a-2'))
        self.assert_hosts_full()

    def test_host_stays_exclusive_in_rounds_during_the_unshelve(self):
        self.shelve(self.server)
        self.see()

        def see(point):
            if point == 'after moving.insert':
                self.see()
                self.assert_hosts_full()

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.handler', see):
            outcome = self.move('unshelve', self.server)

        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_hosts_full()

    def test_server_is_unshelved_after_its_group_has_expired(self):
        self.shelve(self.server)
        self.see()
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == self.uuid,
            expires_at=LONG_AGO,
        )

        outcome = self.move('unshelve', self.server)

        self.assertEqual(('Success', 'ACTIVE'), outcome)

    def test_unused_reservation_for_an_unshelve_is_released(self):
        self.shelve(self.server)
        self.see()
        self.planner.replace_members(self.context, self.uuid, {'a-2': []}, 30)
        self.see()
        [reservation] = self.reservations(states.Hold.HELD)
        self.assert_hosts_full()
        self.assertEqual('ACTIVE', self.group(self.uuid, 'admin')['status'])

        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.id == reservation.id,
            created_at=LONG_AGO,
            updated_at=LONG_AGO,
        )
        self.see()

        self.assertEqual([], self.reservations(states.Hold.HELD))
        self.assert_hosts_full()
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def test_revision_keeps_the_reservation_for_an_unshelve(self):
        self.shelve(self.server)
        self.see()
        self.planner.replace_members(self.context, self.uuid, {'a-2': []}, 30)
        [reservation] = self.reservations(states.Hold.HELD)

        members = {**self.TOPOLOGY['members'], 'b': base.member()}
        self.put_revision(self.uuid, {**self.TOPOLOGY, 'members': members})

        self.assertEqual('HELD', self.status_of('b'))
        [same] = self.reservations(states.Hold.HELD)
        self.assertEqual(reservation.uuid, same.uuid)
        outcome = self.move('unshelve', self.server)
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual(reservation.host, self.host_of(self.server))


class TestOnlyServer(ShelvedTestCase):
    TOPOLOGY = ONE_HOST

    def setUp(self):
        super().setUp()
        self.shelve(self.server)
        self.follow()
        self.maintain()
        self.assertEqual(self.total_vcpus(), self.free())

    def test_only_server_returns_to_an_exclusive_host(self):
        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_hosts_full(self.host_of(self.server))

    def test_server_returns_with_the_flavor_that_it_was_built_with(self):
        self.cloud.placement.put('/traits/CUSTOM_FAST')
        flavor = self.cloud.nova('admin').flavors.find(name='m1.xlarge')
        flavor.set_keys({'trait:CUSTOM_FAST': 'required'})
        self.addCleanup(flavor.unset_keys, ['trait:CUSTOM_FAST'])
        self.put_revision(self.uuid, ONE_HOST)

        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_hosts_full(self.host_of(self.server))

    def test_server_described_otherwise_returns_as_it_was(self):
        zone = base.member('m1.xlarge', count=1, availability_zone='az1')
        self.put_revision(self.uuid, {**ONE_HOST, 'members': {'a': zone}})

        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_hosts_full(self.host_of(self.server))

    def test_server_is_not_unshelved_to_a_host(self):
        self.assert_refused('unshelve it without a host', host='cmp-1')

        self.assertEqual(
            ('Success', 'ACTIVE'), self.move('unshelve', self.server)
        )

    def test_server_is_not_unshelved_to_another_zone(self):
        self.assert_refused(
            'unshelve it with --no-availability-zone', availability_zone='az1'
        )
        # Nova keeps the zone of an unshelve that has failed.
        self.assert_refused('unshelve it with --no-availability-zone')

        self.assertEqual(
            ('Success', 'ACTIVE'),
            self.unshelve_to(self.server, availability_zone=None),
        )

    def test_server_that_ends_before_it_rests_leaves_nothing(self):
        self.move('unshelve', self.server)

        self.delete_servers(self.server)
        self.see()

        self.assertEqual(self.total_vcpus(), self.free())
        self.assertEqual([], self.reservations(states.Hold.REDEEMED))

    def test_server_returns_after_a_scheduler_died_with_its_capacity(self):
        def die(point):
            if point == 'after redeem.transfer':
                raise RuntimeError('the scheduler ends')

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.handler', die):
            self.move('unshelve', self.server)
        self.assertNotEqual(self.total_vcpus(), self.free())
        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.status == states.Hold.REDEEMING,
            updated_at=LONG_AGO,
        )

        self.see()
        self.see()

        self.assertEqual(self.total_vcpus(), self.free())
        self.assertEqual([], self.reservations(*states.HOLD_COMMITTED))
        outcome = self.move('unshelve', self.server)
        self.assertEqual(('Success', 'ACTIVE'), outcome)

    def test_server_stays_shelved_without_an_empty_host(self):
        for host in exclusive_groups.HOSTS:
            self.fill(host.name, VCPU=1)
        free = self.free()

        self.move('unshelve', self.server)

        server = self.server.manager.get(self.server)
        self.assertEqual('SHELVED_OFFLOADED', server.status)
        self.assertEqual(free, self.free())
        self.assertEqual([], self.reservations(states.Hold.HELD))

    def assert_refused(self, reason, **destination):
        """Expect that the server stays shelved, and nothing is held for it."""
        outcome = self.unshelve_to(self.server, **destination)

        self.assertEqual(('Error', 'SHELVED_OFFLOADED'), outcome)
        self.assertIn(reason, self.reason_of_error())
        self.assertEqual(self.total_vcpus(), self.free())
        self.assertEqual([], self.reservations(states.Hold.HELD))

    def reason_of_error(self):
        """Return what Nova tells of the server's newest failed action."""
        actions = self.cloud.nova('admin').instance_action
        newest = actions.list(self.server)[0]
        events = actions.get(self.server, newest.request_id).events
        return str([event.get('details') for event in events])


class TestPendingFlavor(ShelvedTestCase):
    """A server to be resized, shelved before its group becomes exclusive."""

    FLAVOR = 'm1.small'
    TOPOLOGY = {'members': {'a': base.member('m1.small')}}
    LARGER = {'members': {'a': base.member('m1.large')}}

    def test_server_to_be_resized_returns_as_it_was(self):
        self.put_revision(self.uuid, self.LARGER)
        self.shelve(self.server)
        self.follow()
        self.put_revision(
            self.uuid, {**self.LARGER, 'policies': ONE_HOST['policies']}
        )

        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        [allocation] = self.allocations(self.server.id).values()
        self.assertEqual(2048, allocation['resources']['MEMORY_MB'])
        self.assert_hosts_full(self.host_of(self.server))
        self.assertEqual([], self.reservations(states.Hold.HELD))
        self.assertEqual([], audit.audit(self.context, self.placement_client))

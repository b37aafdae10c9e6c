# SPDX-License-Identifier: Apache-2.0
"""Do servers of groups that are alone come back when they are unshelved?"""

import datetime

import fixtures

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.resize import reservations
from tests.functional import base
from tests.functional import exclusive_groups
from tests.functional import moves
from tests.later import test_revising_exclusive

ONE_HOST = {
    'members': {'a': base.member('m1.xlarge', count=1)},
    'policies': [{'type': 'exclusive', 'scope': 'host'}],
}
LONG_AGO = datetime.datetime(2020, 1, 1)


class ShelvedTestCase(
    exclusive_groups.KeepingCase,
    moves.MovingTestCase,
    test_revising_exclusive.ExclusiveTestCase,
):
    """A group that has its servers; ``self.server`` is one of them."""

    def setUp(self):
        super().setUp()
        servers = {
            path: self.create(
                'm1.xlarge',
                user='admin',
                scheduler_hints=base.pointer(self.uuid, path),
            )
            for path in sorted(self.planned(self.uuid))
        }
        self.addCleanup(self.remove, *servers.values())
        for each in servers.values():
            self.built(each)
        *_others, self.server = servers.values()
        self.planner = planner.Planner('a')

    def see(self):
        """Take the steps of a round."""
        self.follow()
        reservations.follow_reservations(
            self.context, self.ledger, self.leases
        )
        self.keep()

    def status_of(self, path):
        members = self.group(self.uuid, 'admin')['members']
        return {each['path']: each['status'] for each in members}[path]

    def reservations(self, *statuses):
        rows = self.holds_of(self.uuid)
        return [
            r for r in rows if r.is_resize_reservation and r.status in statuses
        ]


class TestOneOfSeveral(ShelvedTestCase):
    def test_it_comes_back_to_hosts_that_stay_the_groups_own(self):
        self.shelve(self.server)
        self.see()
        self.assertEqual('SHELVED', self.status_of('a-2'))
        self.assert_alone()

        outcome = self.move('unshelve', self.server)

        self.assert_alone()
        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual('ACTIVE', self.status_of('a-2'))
        self.assertIn(self.host_of(self.server), self.ALONE)
        self.assert_alone()
        self.assertEqual('ACTIVE', self.group(self.uuid, 'admin')['status'])
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def test_it_comes_back_before_anybody_has_seen_that_it_was_shelved(self):
        self.shelve(self.server)

        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual('ACTIVE', self.status_of('a-2'))
        self.assert_alone()

    def test_nobody_gets_in_while_rounds_are_taken_in_between(self):
        self.shelve(self.server)
        self.see()

        def see(point):
            if point == 'after moving.write_down':
                self.see()
                self.assert_alone()

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.trap', see):
            outcome = self.move('unshelve', self.server)

        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_alone()

    def test_it_comes_back_long_after_its_group_has_expired(self):
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

    def test_room_for_it_is_given_back_when_it_does_not_come(self):
        self.shelve(self.server)
        self.see()
        self.planner.replan(self.context, self.uuid, {'a-2': []}, 30)
        self.see()
        [reservation] = self.reservations(states.Hold.HELD)
        self.assert_alone()
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
        self.assert_alone()
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def test_a_revision_leaves_room_for_it_that_is_held_already(self):
        self.shelve(self.server)
        self.see()
        self.planner.replan(self.context, self.uuid, {'a-2': []}, 30)
        [reservation] = self.reservations(states.Hold.HELD)

        members = {**self.TOPOLOGY['members'], 'b': base.member()}
        self.revised(self.uuid, {**self.TOPOLOGY, 'members': members})

        self.assertEqual('HELD', self.status_of('b'))
        [same] = self.reservations(states.Hold.HELD)
        self.assertEqual(reservation.uuid, same.uuid)
        outcome = self.move('unshelve', self.server)
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assertEqual(reservation.host, self.host_of(self.server))


class TestAlone(ShelvedTestCase):
    TOPOLOGY = ONE_HOST

    def setUp(self):
        super().setUp()
        self.shelve(self.server)
        self.follow()
        self.keep()
        self.assertEqual(self.empty(), self.free())

    def test_the_last_one_comes_back_to_a_host_of_its_own(self):
        outcome = self.move('unshelve', self.server)

        self.see()
        self.assertEqual(('Success', 'ACTIVE'), outcome)
        self.assert_alone(self.host_of(self.server))

    def test_where_no_host_is_empty_it_stays_shelved_and_nothing_is_held(self):
        for host in exclusive_groups.HOSTS:
            self.fill(host.name, VCPU=1)
        free = self.free()

        self.move('unshelve', self.server)

        server = self.server.manager.get(self.server)
        self.assertEqual('SHELVED_OFFLOADED', server.status)
        self.assertEqual(free, self.free())
        self.assertEqual([], self.reservations(states.Hold.HELD))

# SPDX-License-Identifier: Apache-2.0
"""Leases of groups, and planners without heartbeats."""

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from tests import fixtures
from tests import groups
from tests.unit.objects import base


class LeaseCase(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock())
        self.group = self.create()

    def acquire(self, owner='me', **options):
        return objects.VRTLease.acquire(
            *(self.context, self.group.id, owner),
            *(uuidutils.generate_uuid(), 60),
            **options,
        )

    def waiting(self):
        found = {
            group.uuid
            for waiting in (
                objects.VRTGroup.list_abandoned,
                objects.VRTGroup.list_to_plan,
            )
            for group in waiting(self.context)
        }
        return list(found)

    def pass_seconds(self, seconds):
        timeutils.advance_time_seconds(seconds)


class TestLease(LeaseCase):
    def test_second_lease_of_a_group_is_refused(self):
        lease = self.acquire()

        self.assertIsNone(self.acquire('another'))
        lease.waiters = 1
        self.assertTrue(lease.release(self.context))
        self.assertIsNotNone(self.acquire('another'))

    def test_lease_requested_meanwhile_is_released_at_the_second_try(self):
        lease = self.acquire()
        self.acquire('another')

        self.assertFalse(lease.release(self.context))
        self.assertTrue(lease.release(self.context))
        self.assertNotIn('vrt_leases', fixtures.row_counts())

    def test_acquire_without_waking_the_owner_leaves_no_request(self):
        lease = self.acquire()
        tried = self.acquire('another', wakes_owner=False)

        self.assertIsNone(tried)
        self.assertTrue(lease.release(self.context))

    def test_expired_lease_is_taken_over(self):
        late = self.acquire()
        self.pass_seconds(61)

        lease = self.acquire('another')

        self.assertRaises(exception.GroupBusy, late.renew, self.context)
        self.assertTrue(late.release(self.context))
        lease.renew(self.context)

    def test_renewed_lease_is_not_taken_over(self):
        lease = self.acquire()
        self.pass_seconds(50)
        lease.renew(self.context)
        self.pass_seconds(50)

        self.assertIsNone(self.acquire('another'))

    def test_draft_is_leased_with_the_group_that_it_revises(self):
        draft = groups.unstored()
        drafts.store(self.context, self.group, draft)
        self.assertEqual(set(), objects.VRTLease.leased_groups(self.context))

        self.acquire()

        busy = objects.VRTLease.leased_groups(self.context)
        self.assertEqual({self.group.id, draft.id}, busy)

    def test_lease_is_deleted_with_its_group(self):
        lease = self.acquire()
        self.group.purge(self.context)

        self.assertTrue(lease.release(self.context))


class TestWaiting(LeaseCase):
    def test_group_waits_until_its_lease_is_acquired(self):
        self.assertEqual([self.group.uuid], self.waiting())
        self.acquire()
        self.assertEqual([], self.waiting())

    def test_group_with_an_expired_lease_waits_in_any_state(self):
        self.change(self.group, 'ERROR')
        self.assertEqual([], self.waiting())
        self.acquire()
        self.pass_seconds(61)

        self.assertEqual([self.group.uuid], self.waiting())

    def test_group_with_a_draft_waits(self):
        self.change(self.group, 'HELD')
        self.assertEqual([], self.waiting())

        drafts.store(self.context, self.group, groups.unstored())

        self.assertEqual([self.group.uuid], self.waiting())

    def change(self, group, status):
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == group.id,
            status=status,
        )
        group.status = status


class TestPlanner(LeaseCase):
    INTERVAL = 5

    def planner(self, name):
        planner = objects.VRTPlanner(
            uuid=uuidutils.generate_uuid(),
            host=name,
            process='process',
            revision='revision',
            clock_offset=0.0,
        )
        planner.store_heartbeat(self.context)
        return planner

    def silent(self):
        found = objects.VRTPlanner.list_dead(self.context, self.INTERVAL)
        return [planner.host for planner in found]

    def test_planner_without_a_heartbeat_is_silent(self):
        planner, _other = self.planner('a'), self.planner('b')
        self.pass_seconds(25)
        planner.store_heartbeat(self.context)
        self.assertEqual([], self.silent())
        self.pass_seconds(10)

        self.assertEqual(['b'], self.silent())

    def test_group_of_a_deleted_planner_waits(self):
        planner, other = self.planner('a'), self.planner('b')
        self.acquire(planner.uuid)

        other.remove(self.context)
        self.assertEqual([], self.waiting())
        planner.remove(self.context)

        self.assertEqual([self.group.uuid], self.waiting())
        self.assertEqual([], objects.VRTPlanner.list_rows(self.context))

    def test_heartbeat_of_a_deleted_planner_restores_its_row(self):
        planner = self.planner('a')
        planner.remove(self.context)

        planner.store_heartbeat(self.context)

        [found] = objects.VRTPlanner.list_rows(self.context)
        self.assertEqual(planner.uuid, found.uuid)

    def test_ended_operation_frees_its_group(self):
        self.acquire()
        self.assertEqual(
            [], objects.VRTLease.list_operations(self.context, 'you')
        )
        operations = objects.VRTLease.list_operations(self.context, 'me')
        objects.VRTLease.end_all(self.context, [])
        self.assertEqual([], self.waiting())

        objects.VRTLease.end_all(self.context, operations)

        self.assertEqual([self.group.uuid], self.waiting())
        self.assertEqual(
            [], objects.VRTLease.list_operations(self.context, 'me')
        )

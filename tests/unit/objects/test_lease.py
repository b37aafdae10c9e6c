# SPDX-License-Identifier: Apache-2.0
"""Who works on a group, and what becomes of the work of who is gone?"""

from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import revisions
from tests import fixtures
from tests import groups
from tests.unit.objects import base


class LeaseCase(base.GroupCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock())
        self.group = self.create()

    def acquire(self, owner='me', acquire=objects.VRTLease.acquire):
        return acquire(
            *(self.context, self.group.id, owner),
            *(uuidutils.generate_uuid(), 60),
        )

    def waiting(self):
        found = {
            group.uuid
            for waiting in (
                objects.VRTGroup.list_left,
                objects.VRTGroup.list_to_plan,
            )
            for group in waiting(self.context)
        }
        return list(found)

    def pass_seconds(self, seconds):
        timeutils.advance_time_seconds(seconds)


class TestLease(LeaseCase):
    def test_one_at_a_time_works_on_a_group(self):
        lease = self.acquire()

        self.assertIsNone(self.acquire('another'))
        lease.asked = 1
        self.assertTrue(lease.release(self.context))
        self.assertIsNotNone(self.acquire('another'))

    def test_who_is_asked_meanwhile_looks_once_more(self):
        lease = self.acquire()
        self.acquire('another')

        self.assertFalse(lease.release(self.context))
        self.assertTrue(lease.release(self.context))
        self.assertNotIn('vrt_leases', fixtures.rows())

    def test_who_only_tries_leaves_no_word(self):
        lease = self.acquire()
        tried = self.acquire('another', objects.VRTLease.try_to_acquire)

        self.assertIsNone(tried)
        self.assertTrue(lease.release(self.context))

    def test_a_lease_that_has_ended_is_taken_over(self):
        late = self.acquire()
        self.pass_seconds(61)

        lease = self.acquire('another')

        self.assertRaises(exception.GroupBusy, late.renew, self.context)
        self.assertTrue(late.release(self.context))
        lease.renew(self.context)

    def test_one_that_is_renewed_is_not(self):
        lease = self.acquire()
        self.pass_seconds(50)
        lease.renew(self.context)
        self.pass_seconds(50)

        self.assertIsNone(self.acquire('another'))

    def test_a_draft_is_busy_with_the_group_that_it_revises(self):
        draft = groups.described()
        revisions.start(self.context, self.group, draft)
        self.assertEqual(set(), objects.VRTLease.leased_groups(self.context))

        self.acquire()

        busy = objects.VRTLease.leased_groups(self.context)
        self.assertEqual({self.group.id, draft.id}, busy)

    def test_it_goes_with_its_group(self):
        lease = self.acquire()
        self.group.destroy(self.context)

        self.assertTrue(lease.release(self.context))


class TestWaiting(LeaseCase):
    def test_a_group_waits_until_it_is_worked_on(self):
        self.assertEqual([self.group.uuid], self.waiting())
        self.acquire()
        self.assertEqual([], self.waiting())

    def test_what_is_left_waits_whatever_its_state_is(self):
        self.change(self.group, 'ERROR')
        self.assertEqual([], self.waiting())
        self.acquire()
        self.pass_seconds(61)

        self.assertEqual([self.group.uuid], self.waiting())

    def test_a_group_waits_for_its_draft(self):
        self.change(self.group, 'HELD')
        self.assertEqual([], self.waiting())

        revisions.start(self.context, self.group, groups.described())

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
        planner.beat(self.context)
        return planner

    def silent(self):
        found = objects.VRTPlanner.list_silent(self.context, self.INTERVAL)
        return [planner.host for planner in found]

    def test_who_gives_no_sign_of_life_is_silent(self):
        planner, _other = self.planner('a'), self.planner('b')
        self.pass_seconds(25)
        planner.beat(self.context)
        self.assertEqual([], self.silent())
        self.pass_seconds(10)

        self.assertEqual(['b'], self.silent())

    def test_its_work_is_left_to_others_when_it_is_forgotten(self):
        planner, other = self.planner('a'), self.planner('b')
        self.acquire(planner.uuid)

        other.forget(self.context)
        self.assertEqual([], self.waiting())
        planner.forget(self.context)

        self.assertEqual([self.group.uuid], self.waiting())
        self.assertEqual([], objects.VRTPlanner.list(self.context))

    def test_who_was_only_slow_is_there_again(self):
        planner = self.planner('a')
        planner.forget(self.context)

        planner.beat(self.context)

        [found] = objects.VRTPlanner.list(self.context)
        self.assertEqual(planner.uuid, found.uuid)

    def test_what_nobody_works_on_is_ended(self):
        self.acquire()
        self.assertEqual([], objects.VRTLease.operations(self.context, 'you'))
        operations = objects.VRTLease.operations(self.context, 'me')
        objects.VRTLease.end(self.context, [])
        self.assertEqual([], self.waiting())

        objects.VRTLease.end(self.context, operations)

        self.assertEqual([self.group.uuid], self.waiting())
        self.assertEqual([], objects.VRTLease.operations(self.context, 'me'))

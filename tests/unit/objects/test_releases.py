# SPDX-License-Identifier: Apache-2.0
"""Releases of members on request, and when their time is over."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold


class TestExpiry(base.ExpiringGroupTestCase):
    def expired(self):
        found = objects.VRTGroup.list_expired(self.context)
        return [group.uuid for group in found]

    def state(self):
        group = self.get(self.group)
        return group.status, *(member.status for member in group.members)

    def holds(self):
        return [hold.status for hold in self.holds_of(self.group)]

    def test_group_is_held_until_it_expires(self):
        self.pass_seconds(59)
        self.assertEqual([], self.expired())
        self.assertFalse(self.expire())
        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

        self.pass_seconds(1)

        self.assertEqual([self.group.uuid], self.expired())
        self.assertTrue(self.expire())
        self.assertEqual([], self.expired())
        self.assertEqual(
            (Group.RELEASED, *[Member.TENTATIVE] * 3), self.state()
        )
        self.assertEqual(['RELEASING'] * 3, self.holds())

    def test_members_of_an_expired_group_have_its_fault(self):
        self.pass_seconds(60)
        self.expire()

        self.assertEqual(
            {'its group expired at 2026-11-01T12:01:00Z'},
            {member.fault for member in self.get(self.group).members},
        )

    def test_active_and_redeeming_members_do_not_expire(self):
        first, second, _third = self.group.members
        self.redeem(first)
        second.change(self.context, Member.REDEEMING)
        self.pass_seconds(60)

        self.expire()

        self.assertEqual(
            (Group.HELD, Member.ACTIVE, Member.REDEEMING, Member.TENTATIVE),
            self.state(),
        )
        self.assertEqual(['REDEEMED', 'HELD', 'RELEASING'], self.holds())

    def test_members_that_are_reserved_for_servers_are_not_released(self):
        self.group.members[0].update_row(
            self.context, reserved_for=uuids.server
        )
        self.pass_seconds(60)

        self.assertTrue(
            releases.release_overdue(self.context, self.get(self.group), 60)
        )
        self.assertEqual((Member.HELD, Member.TENTATIVE), self.state()[1:3])
        self.expire()

        self.assertEqual(['HELD', *['RELEASING'] * 2], self.holds())

    def test_failed_member_of_an_expired_group_keeps_its_fault(self):
        transitions.end_member(
            self.context,
            self.group.members[0],
            Member.FAILED,
            'its host has burnt down',
        )
        self.pass_seconds(60)

        self.expire()

        failed, *_others = self.get(self.group).members
        self.assertEqual(
            (Member.FAILED, 'its host has burnt down'),
            (failed.status, failed.fault),
        )

    def test_group_extended_in_time_does_not_expire(self):
        """The reaper has found the group just before it was extended."""
        self.pass_seconds(59)
        self.extend()
        self.pass_seconds(1)

        self.assertFalse(self.expire())

        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

    def test_member_is_redeemable_until_its_group_expires(self):
        def obstacles():
            by_path = objects.VRTMember.get_by_path(
                self.context, self.group.uuid, 'master', project_id='project'
            )
            by_id = objects.VRTMember.find_by_id(self.context, by_path.id)
            return {each.redeem_obstacle() for each in (by_path, by_id)}

        self.assertEqual({None}, obstacles())
        self.pass_seconds(60)
        fault = 'its group expired at 2026-11-01T12:01:00Z'
        self.assertEqual({fault}, obstacles())
        self.expire()
        self.assertEqual({fault}, obstacles())


class TestRelease(base.HeldGroupTestCase):
    """Members of a held group of three are released on request."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.first, self.second, _third = self.group.members

    def release(self, *members, generation=None):
        return releases.release_members(
            self.context, self.group, members or None, generation
        )

    def statuses(self):
        return [member.status for member in self.get(self.group).members]

    def test_group_of_released_members_is_released(self):
        self.assertTrue(self.release())

        self.assertEqual(Group.RELEASED, self.get(self.group).status)
        self.assertFalse(self.release())

    def test_members_beyond_the_count_that_wait_for_servers_end(self):
        """One of the two workers is described."""
        described = self.get(self.group).member_sets[1]
        described.update_row(
            self.context, description={'count': 1, 'max_count': 3}
        )
        for successor, expected in (
            (None, [Member.TENTATIVE, Member.RELEASED]),
            ('workers/worker-0', [Member.RELEASED, Member.RELEASED]),
        ):
            master, first, second = self.get(self.group).members
            for member in (master, first, second):
                member.update_row(self.context, status=Member.HELD)
            first.update_row(self.context, reserved_for=uuids.server)
            second.update_row(self.context, succeeds=successor)
            self.group = self.get(self.group)

            self.release()

            self.assertEqual([Member.RELEASED, *expected], self.statuses())

    def test_release_of_a_redeeming_member_is_refused(self):
        stale = self.get(self.group).members[0]
        self.first.change(self.context, Member.REDEEMING)

        self.assertRaises(
            exception.MemberStateConflict, self.release, stale, self.second
        )

        self.assertEqual(
            [Member.REDEEMING, Member.HELD, Member.HELD], self.statuses()
        )

    def test_release_of_an_earlier_generation_is_refused(self):
        generation = self.get(self.group).definition_generation - 1

        self.assertRaises(
            exception.GenerationConflict, self.release, generation=generation
        )

        self.assertEqual(3 * [Member.HELD], self.statuses())

    def test_release_of_all_of_a_purged_group_is_not_found(self):
        group = self.get(self.group)
        db.delete(self.context, models.Group, models.Group.id == group.id)

        self.assertRaises(
            exception.GroupNotFound,
            releases.release_all,
            *(self.context, group),
        )

    def test_release_of_a_failed_member_releases_its_hold(self):
        """Its server, which nobody has built, has an allocation."""
        self.redeem(self.first)
        transitions.end_member(
            self.context, self.first, Member.FAILED, 'nobody has built it'
        )

        self.release(self.first)

        held = {each.status for each in self.holds_of(self.group)}
        self.assertEqual({Hold.HELD}, held)

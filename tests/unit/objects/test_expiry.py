# SPDX-License-Identifier: Apache-2.0
"""Expiry and extension of groups."""

import datetime

from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold
NOON = datetime.datetime(2026, 11, 1, 12)


class TestExpiry(base.HeldGroupTestCase):
    """A held group of three is extended or expires, as a whole."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))
        self.group = self.create_held_group(
            NOON + datetime.timedelta(seconds=60)
        )

    def pass_seconds(self, seconds):
        timeutils.advance_time_seconds(seconds)

    def expired(self):
        found = objects.VRTGroup.list_expired(self.context)
        return [group.uuid for group in found]

    def state(self):
        group = self.get(self.group)
        return group.status, *(member.status for member in group.members)

    def holds(self):
        return [hold.status for hold in self.holds_of(self.group)]

    def extend(self, seconds=60):
        self.get(self.group).extend(self.context, seconds)

    def expire(self):
        return releases.expire(self.context, self.group)

    def refusal(self):
        error = self.assertRaises(exception.GroupStateConflict, self.extend)
        return error.format_message().partition(' is ')[2]

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
            (Group.RELEASED, *[Member.RELEASED] * 3), self.state()
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
            (Group.HELD, Member.ACTIVE, Member.REDEEMING, Member.RELEASED),
            self.state(),
        )
        self.assertEqual(['REDEEMED', 'HELD', 'RELEASING'], self.holds())

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

    def test_extension_counts_from_now(self):
        self.pass_seconds(30)
        generation = self.get(self.group).generation

        self.extend(100)

        group = self.get(self.group)
        self.assertEqual(
            NOON + datetime.timedelta(seconds=130), group.expires_at
        )
        self.assertEqual(generation + 1, group.generation)

    def test_group_extended_in_time_does_not_expire(self):
        """The reaper has found the group just before it was extended."""
        self.pass_seconds(59)
        self.extend()
        self.pass_seconds(1)

        self.assertFalse(self.expire())

        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

    def test_extension_of_an_expired_group_is_refused(self):
        self.pass_seconds(60)

        self.assertEqual(
            'HELD: it expired at 2026-11-01T12:01:00Z; its holds are being '
            'released',
            self.refusal(),
        )
        self.expire()
        self.assertEqual(
            'RELEASED: it has no held members; it expired at '
            '2026-11-01T12:01:00Z',
            self.refusal(),
        )

    def test_late_extension_by_a_stale_object_is_refused(self):
        """Its clock is before the end, its transaction after the expiry."""
        stale = self.get(self.group)
        self.pass_seconds(60)
        self.expire()
        self.pass_seconds(-1)

        self.assertRaises(
            exception.GroupStateConflict, stale.extend, self.context, 60
        )

        self.assertEqual(
            (Group.RELEASED, *[Member.RELEASED] * 3), self.state()
        )

    def test_group_with_redeeming_members_is_extended(self):
        for member in self.group.members:
            member.change(self.context, Member.REDEEMING)

        self.extend()

    def test_extension_of_a_group_without_holds_is_refused(self):
        self.redeem(*self.group.members)

        self.assertEqual('ACTIVE: it has no held members', self.refusal())

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

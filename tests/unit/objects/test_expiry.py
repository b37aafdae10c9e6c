# SPDX-License-Identifier: Apache-2.0
"""When is what is held given back because its time is over?"""

import datetime

from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import fixtures
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold
NOON = datetime.datetime(2026, 11, 1, 12)


class TestExpiry(base.HeldCase):
    """A held group of three is extended or expires, as a whole."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))
        self.group = self.held(NOON + datetime.timedelta(seconds=60))

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
        return transitions.expire(self.context, self.group)

    def refusal(self):
        error = self.assertRaises(exception.GroupStateConflict, self.extend)
        return error.format_message().partition(' is ')[2]

    def test_it_is_held_until_its_time_is_over(self):
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

    def test_its_members_say_why_they_are_released(self):
        self.pass_seconds(60)
        self.expire()

        self.assertEqual(
            {'its group expired at 2026-11-01T12:01:00Z'},
            {member.fault for member in self.get(self.group).members},
        )

    def test_what_is_a_server_or_becomes_one_stays(self):
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

    def test_who_has_failed_keeps_its_fault(self):
        transitions.end(
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

    def test_extending_counts_from_now(self):
        self.pass_seconds(30)
        generation = self.get(self.group).generation

        self.extend(100)

        group = self.get(self.group)
        self.assertEqual(
            NOON + datetime.timedelta(seconds=130), group.expires_at
        )
        self.assertEqual(generation + 1, group.generation)

    def test_who_was_extended_in_time_does_not_expire(self):
        """The reaper has found the group just before it was extended."""
        self.pass_seconds(59)
        self.extend()
        self.pass_seconds(1)

        self.assertFalse(self.expire())

        self.assertEqual((Group.HELD, *[Member.HELD] * 3), self.state())

    def test_who_has_expired_is_not_extended(self):
        self.pass_seconds(60)

        self.assertEqual(
            'HELD: it expired at 2026-11-01T12:01:00Z', self.refusal()
        )
        self.expire()
        self.assertEqual(
            'RELEASED: nothing of it is held; it expired at '
            '2026-11-01T12:01:00Z',
            self.refusal(),
        )

    def test_an_extension_that_comes_late_changes_nothing(self):
        """Its clock was before the end, its turn after the expiry."""
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

    def test_members_that_are_being_created_are_extended(self):
        for member in self.group.members:
            member.change(self.context, Member.REDEEMING)

        self.extend()

    def test_what_holds_nothing_is_not_extended(self):
        self.redeem(*self.group.members)

        self.assertEqual('ACTIVE: nothing of it is held', self.refusal())

    def test_a_hold_is_good_until_its_group_expires(self):
        def obstacles():
            by_path = objects.VRTMember.get_by_path(
                self.context, self.group.uuid, 'master', project_id='project'
            )
            by_id = objects.VRTMember.find_by_id(self.context, by_path.id)
            return {each.why_not_redeemable() for each in (by_path, by_id)}

        self.assertEqual({None}, obstacles())
        self.pass_seconds(60)
        told = 'its group expired at 2026-11-01T12:01:00Z'
        self.assertEqual({told}, obstacles())
        self.expire()
        self.assertEqual({told}, obstacles())

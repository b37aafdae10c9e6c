# SPDX-License-Identifier: Apache-2.0
"""Transitions of a group, its members and their holds."""

import datetime

from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import redeems
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold


class TestStatus(base.HeldGroupTestCase):
    """The status of a group follows from those of its members."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.first, self.second, self.third = self.group.members

    def status(self):
        return self.get(self.group).status

    def release(self, *members):
        return releases.release_members(
            self.context, self.group, members or None
        )

    def test_group_with_a_held_member_is_held(self):
        self.redeem(self.first, self.second)

        self.assertEqual(Group.HELD, self.status())

    def test_group_with_a_redeeming_member_is_held(self):
        self.redeem(self.first, self.second)
        self.third.change(self.context, Member.REDEEMING)

        self.release()

        self.assertEqual(Group.HELD, self.status())

    def test_group_of_servers_and_released_members_is_active(self):
        self.redeem(self.first, self.second)
        self.release(self.third)

        self.assertEqual(Group.ACTIVE, self.status())

    def test_group_of_servers_and_failed_members_is_active(self):
        self.redeem(self.first, self.second)
        transitions.end_member(
            self.context, self.third, Member.FAILED, 'its host has burnt down'
        )

        self.assertEqual(Group.ACTIVE, self.status())

    def test_group_is_released_with_its_last_server(self):
        self.redeem(self.first)
        self.release()
        [first, *_others] = self.get(self.group).members
        self.end_hold(first, Member.RELEASED)

        self.assertEqual(Group.RELEASED, self.status())

    def redeemed_and_failed(self):
        """Fail the first member, whose server has an allocation."""
        self.redeem(self.first)
        transitions.end_member(
            self.context, self.first, Member.FAILED, 'nobody has built it'
        )

    def test_group_is_active_while_a_failed_server_has_a_hold(self):
        self.redeemed_and_failed()
        self.release(self.second, self.third)
        self.assertEqual(Group.ACTIVE, self.status())

        self.end_hold(self.first, Member.FAILED)

        self.assertEqual(Group.RELEASED, self.status())

    def test_deleted_group_stays_releasing(self):
        self.group.mark_deleted(self.context)

        self.release()

        self.assertEqual(Group.RELEASING, self.status())

    def test_every_transition_increments_the_generation(self):
        before = self.get(self.group).generation

        self.redeem(self.first)

        self.assertEqual(before + 1, self.get(self.group).generation)


class TestReserve(base.HeldGroupTestCase):
    """Several servers reserve a member each, or none does."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.uuids = [uuidutils.generate_uuid() for _each in range(2)]

    def reserve(self, *members):
        pairs = [self.member_and_hold(member) for member in members]
        servers = dict(zip(self.uuids, pairs, strict=True))
        return redeems.reserve(self.context, servers)

    def reserved(self):
        members = self.get(self.group).members
        return [(member.status, member.server_uuid) for member in members]

    def test_every_reserved_member_has_its_server(self):
        first, second, _third = self.group.members

        self.assertTrue(self.reserve(second, first))

        self.assertEqual(
            [
                (Member.REDEEMING, self.uuids[1]),
                (Member.REDEEMING, self.uuids[0]),
                (Member.HELD, None),
            ],
            self.reserved(),
        )
        self.assertEqual(Member.REDEEMING, first.status)

    def test_reservation_with_one_taken_member_is_refused(self):
        first, second, _third = self.group.members
        stale = self.get(self.group).members[1]
        second.change(self.context, Member.REDEEMING)
        before = self.reserved()

        self.assertFalse(self.reserve(first, stale))

        self.assertEqual(before, self.reserved())
        self.assertEqual(Member.HELD, first.status)

    def test_second_member_for_one_server_is_refused(self):
        """A request that is delivered twice may find two that are free."""
        for member, is_free in zip(
            self.group.members, (True, False), strict=False
        ):
            own = {self.uuids[0]: self.member_and_hold(member)}
            done = redeems.reserve(self.context, own)
            self.assertEqual(is_free, done)

    def test_member_of_an_expired_group_is_not_reserved(self):
        db.compare_and_set(self.context, models.Group, expires_at=clock.now())
        own = {self.uuids[0]: self.member_and_hold(self.group.members[0])}

        self.assertFalse(redeems.reserve(self.context, own))


class TestHold(base.GroupTestCase):
    """A plan is committed by the holder of the lease, as it was decided."""

    def setUp(self):
        super().setUp()
        self.group = self.create()
        self.rows = groups.create_holds(self.context, self.group)
        self.lease = groups.acquire_lease(self.context, self.group)

    def hold(self):
        expires_at = timeutils.utcnow() + datetime.timedelta(hours=1)
        transitions.hold_group(
            self.context, self.lease, self.group, self.rows, expires_at
        )

    def assert_refused(self):
        self.assertRaises(exception.GenerationConflict, self.hold)
        statuses = objects.VRTHold.list_by_status(self.context, Hold.WRITING)
        self.assertEqual(len(self.rows), len(statuses))

    def test_plan_of_the_lease_holder_is_committed(self):
        self.hold()

        self.assertEqual(Group.HELD, self.get(self.group).status)

    def test_plan_of_a_planner_that_has_lost_the_lease_is_refused(self):
        self.lease.release(self.context)
        groups.acquire_lease(self.context, self.group)

        self.assert_refused()

    def test_plan_of_an_earlier_generation_is_refused(self):
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == self.group.id,
            generation=self.group.generation + 1,
        )

        self.assert_refused()

    def test_plan_with_an_ended_hold_is_refused(self):
        objects.VRTHold.abandon(self.context, self.rows[:1])

        self.assertRaises(exception.GenerationConflict, self.hold)
        self.assertEqual(Group.PLANNING, self.get(self.group).status)


class TestResizeReservation(base.HeldGroupTestCase):
    """A resize reservation is redeemed once, by its server."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        member = self.group.members[0]
        self.row = objects.VRTHold.reservation(
            member, groups.placement(uuids.rp, 1)
        )
        self.row.create(self.context)
        placeholder_holds.commit(self.context, self.group, [self.row])

    def current(self):
        [row] = objects.VRTHold.list_by_uuids(self.context, [self.row.uuid])
        return row

    def test_redeemed_reservation_is_not_ended_by_a_stale_object(self):
        stale = self.current()
        redeems.redeem_reservation(self.context, self.current(), uuids.server)

        self.assertFalse(redeems.end_hold(self.context, stale))

        self.assertEqual(Hold.REDEEMING, self.current().status)

    def test_reservation_in_a_swap_is_not_redeemed(self):
        lease = groups.acquire_lease(self.context, self.group)
        swaps.prepare(self.context, lease, (), [self.current()])

        self.assertFalse(
            redeems.redeem_reservation(
                self.context, self.current(), uuids.server
            )
        )

        self.assertEqual(Hold.HELD, self.current().status)

    def test_reservation_of_another_server_is_not_redeemed(self):
        redeems.redeem_reservation(self.context, self.current(), uuids.server)

        self.assertFalse(
            redeems.redeem_reservation(
                self.context, self.current(), uuids.other
            )
        )

    def test_second_end_of_a_reservation_changes_nothing(self):
        redeems.redeem_reservation(self.context, self.current(), uuids.server)
        redeems.end_reservation(self.context, self.current(), True)

        redeems.end_reservation(self.context, self.current(), False)

        self.assertEqual(Hold.REDEEMED, self.current().status)


class TestEndHold(base.HeldGroupTestCase):
    """A hold ends once, and together with its member's change."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.member = self.group.members[0]

    def state(self):
        group = self.get(self.group)
        return (
            group.status,
            group.members[0].status,
            self.holds_of(group)[0].status,
        )

    def test_second_end_of_a_hold_is_refused(self):
        stale = self.get(self.group).members[0]

        self.assertTrue(self.end_hold(self.member, Member.FAILED))

        before = self.state()
        hold = self.holds_of(self.group)[0]
        hold.status = Hold.HELD
        change = stale.status_change(Member.FAILED)
        self.assertFalse(redeems.end_hold(self.context, hold, change))
        self.assertEqual(before, self.state())

    def test_hold_of_a_redeeming_member_is_not_ended(self):
        stale = self.get(self.group).members[0]
        self.member.change(self.context, Member.REDEEMING)
        before = self.state()

        self.assertFalse(self.end_hold(stale, Member.FAILED))

        self.assertEqual(before, self.state())

    def test_end_of_an_old_server_is_not_written_to_the_next(self):
        first, second = uuids.first, uuids.second
        self.be_shelved(first)
        [stale] = objects.VRTMember.list_with_servers(self.context)
        self.be_shelved(second)

        self.assertRaises(
            exception.MemberStateConflict,
            transitions.end_member,
            *(self.context, stale, Member.RELEASED, 'it was deleted'),
        )

        member = self.get(self.group).members[0]
        self.assertEqual(
            (Member.SHELVED, second), (member.status, member.server_uuid)
        )

    def be_shelved(self, server):
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == self.member.id,
            status=Member.SHELVED,
            server_uuid=server,
        )

    def test_uncommitted_hold_does_not_end(self):
        for status in (Hold.WRITING, Hold.EXCHANGING, Hold.RELEASING):
            hold = self.holds_of(self.group)[0]
            hold.status = status
            self.assertFalse(redeems.end_hold(self.context, hold))

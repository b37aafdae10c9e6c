# SPDX-License-Identifier: Apache-2.0
"""What happens to a group, its members and their holds at once."""

import datetime

from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold


class TestStatus(base.HeldCase):
    """What a held group becomes is decided by its members, at once."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.first, self.second, self.third = self.group.members

    def status(self):
        return self.get(self.group).status

    def give_up(self, *members):
        return transitions.give_up(self.context, self.group, members or None)

    def test_it_stays_held_while_one_member_is_held(self):
        self.redeem(self.first, self.second)

        self.assertEqual(Group.HELD, self.status())

    def test_it_stays_held_while_one_member_is_being_created(self):
        self.redeem(self.first, self.second)
        self.third.change(self.context, Member.REDEEMING)

        self.give_up()

        self.assertEqual(Group.HELD, self.status())

    def test_it_is_active_when_the_rest_are_servers_or_released(self):
        self.redeem(self.first, self.second)
        self.give_up(self.third)

        self.assertEqual(Group.ACTIVE, self.status())

    def test_it_is_active_when_the_rest_have_failed(self):
        self.redeem(self.first, self.second)
        transitions.end(
            self.context, self.third, Member.FAILED, 'its host has burnt down'
        )

        self.assertEqual(Group.ACTIVE, self.status())

    def test_it_is_released_when_no_member_is_a_server(self):
        self.assertTrue(self.give_up())

        self.assertEqual(Group.RELEASED, self.status())
        self.assertFalse(self.give_up())

    def test_it_is_released_when_its_last_server_was_deleted(self):
        self.redeem(self.first)
        self.give_up()
        [first, *_others] = self.get(self.group).members
        self.end(first, Member.RELEASED)

        self.assertEqual(Group.RELEASED, self.status())

    def redeemed_and_failed(self):
        """Let the first member's server fail and keep what it owns."""
        self.redeem(self.first)
        transitions.end(
            self.context, self.first, Member.FAILED, 'nobody has built it'
        )

    def test_it_is_active_while_a_server_that_failed_owns_something(self):
        self.redeemed_and_failed()
        self.give_up(self.second, self.third)
        self.assertEqual(Group.ACTIVE, self.status())

        self.end(self.first, Member.FAILED)

        self.assertEqual(Group.RELEASED, self.status())

    def test_a_failed_member_is_given_up_with_its_servers_hold(self):
        self.redeemed_and_failed()

        self.give_up(self.first)

        held = {each.status for each in self.holds_of(self.group)}
        self.assertEqual({Hold.HELD}, held)

    def test_a_deleted_one_stays_deleted(self):
        self.group.mark_deleted(self.context)

        self.give_up()

        self.assertEqual(Group.RELEASING, self.status())

    def test_every_change_counts(self):
        before = self.get(self.group).generation

        self.redeem(self.first)

        self.assertEqual(before + 1, self.get(self.group).generation)


class TestReserve(base.HeldCase):
    """Several servers get a member each, or none of them does."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.uuids = [uuidutils.generate_uuid() for _each in range(2)]

    def reserve(self, *members):
        pairs = [self.with_hold(member) for member in members]
        servers = dict(zip(self.uuids, pairs, strict=True))
        return transitions.reserve(self.context, servers)

    def reserved(self):
        members = self.get(self.group).members
        return [(member.status, member.server_uuid) for member in members]

    def test_every_server_is_written_to_its_member(self):
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

    def test_when_one_member_is_taken_no_other_is(self):
        first, second, _third = self.group.members
        stale = self.get(self.group).members[1]
        second.change(self.context, Member.REDEEMING)
        before = self.reserved()

        self.assertFalse(self.reserve(first, stale))

        self.assertEqual(before, self.reserved())
        self.assertEqual(Member.HELD, first.status)

    def test_a_server_that_has_a_member_gets_no_other(self):
        """A request that is delivered twice may find two that are free."""
        for member, is_free in zip(
            self.group.members, (True, False), strict=False
        ):
            own = {self.uuids[0]: self.with_hold(member)}
            done = transitions.reserve(self.context, own)
            self.assertEqual(is_free, done)

    def test_what_has_expired_is_not_reserved(self):
        db.compare_and_set(self.context, models.Group, expires_at=clock.now())
        own = {self.uuids[0]: self.with_hold(self.group.members[0])}

        self.assertFalse(transitions.reserve(self.context, own))


class TestHold(base.GroupCase):
    """A plan is committed by the holder of the lease, as it was decided."""

    def setUp(self):
        super().setUp()
        self.group = self.create()
        self.rows = groups.holds(self.context, self.group)
        self.lease = groups.lease(self.context, self.group)

    def hold(self):
        expires_at = timeutils.utcnow() + datetime.timedelta(hours=1)
        transitions.hold(
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
        groups.lease(self.context, self.group)

        self.assert_refused()

    def test_plan_of_an_earlier_generation_is_refused(self):
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == self.group.id,
            generation=self.group.generation + 1,
        )

        self.assert_refused()

    def test_plan_of_which_a_row_has_ended_is_refused(self):
        objects.VRTHold.retire(self.context, self.rows[:1])

        self.assertRaises(exception.GenerationConflict, self.hold)
        self.assertEqual(Group.PLANNING, self.get(self.group).status)


class TestResizeReservation(base.HeldCase):
    """What is held for the resize of a server becomes the server's once."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        member = self.group.members[0]
        self.row = objects.VRTHold.reservation(
            member, groups.seat(uuids.rp, 1)
        )
        self.row.create(self.context)
        transitions.commit_placeholders(self.context, self.group, [self.row])

    def current(self):
        [row] = objects.VRTHold.list_by_uuids(self.context, [self.row.uuid])
        return row

    def test_reservation_that_has_ended_does_not_end_again(self):
        stale = self.current()
        transitions.redeem_reservation(
            self.context, self.current(), uuids.server
        )

        self.assertFalse(transitions.end_hold(self.context, stale))

        self.assertEqual(Hold.REDEEMING, self.current().status)

    def test_reservation_that_a_swap_ends_is_not_reserved(self):
        lease = groups.lease(self.context, self.group)
        swaps.prepare(self.context, lease, (), [self.current()])

        self.assertFalse(
            transitions.redeem_reservation(
                self.context, self.current(), uuids.server
            )
        )

        self.assertEqual(Hold.HELD, self.current().status)

    def test_reservation_of_another_server_is_not_reserved(self):
        transitions.redeem_reservation(
            self.context, self.current(), uuids.server
        )

        self.assertFalse(
            transitions.redeem_reservation(
                self.context, self.current(), uuids.other
            )
        )

    def test_reservation_that_was_concluded_is_not_concluded_again(self):
        transitions.redeem_reservation(
            self.context, self.current(), uuids.server
        )
        transitions.end_reservation(self.context, self.current(), True)

        transitions.end_reservation(self.context, self.current(), False)

        self.assertEqual(Hold.REDEEMED, self.current().status)


class TestEndHold(base.HeldCase):
    """A hold ends once, and together with its member's change."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.member = self.group.members[0]

    def state(self):
        group = self.get(self.group)
        return (
            group.status,
            group.members[0].status,
            self.holds_of(group)[0].status,
        )

    def test_of_two_who_end_it_one_does(self):
        stale = self.get(self.group).members[0]

        self.assertTrue(self.end(self.member, Member.FAILED))

        before = self.state()
        hold = self.holds_of(self.group)[0]
        hold.status = Hold.HELD
        change = stale.changed(Member.FAILED)
        self.assertFalse(transitions.end_hold(self.context, hold, change))
        self.assertEqual(before, self.state())

    def test_a_member_that_became_another_keeps_it(self):
        stale = self.get(self.group).members[0]
        self.member.change(self.context, Member.REDEEMING)
        before = self.state()

        self.assertFalse(self.end(stale, Member.FAILED))

        self.assertEqual(before, self.state())

    def test_what_became_of_one_server_is_not_said_of_the_next(self):
        first, second = uuids.first, uuids.second
        self.be_shelved(first)
        [stale] = objects.VRTMember.list_servers(self.context)
        self.be_shelved(second)

        self.assertRaises(
            exception.MemberStateConflict,
            transitions.end,
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

    def test_what_was_never_promised_does_not_end(self):
        for status in (Hold.WRITING, Hold.EXCHANGING, Hold.RELEASING):
            hold = self.holds_of(self.group)[0]
            hold.status = status
            self.assertFalse(transitions.end_hold(self.context, hold))

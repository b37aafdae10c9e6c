# SPDX-License-Identifier: Apache-2.0
"""Who becomes a server while a revision exchanges what is held?"""

from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import changing_hands
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from tests import groups
from tests.unit.objects import base


class TestChangingHands(base.HeldCase):
    """The first of three members moves to where the second is held."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.first, self.second, _third = self.group.members
        hold_of = {
            member.path: objects.VRTHold.get_by_member(self.context, member.id)
            for member in self.group.members
        }
        self.there = groups.seat(hold_of[self.second.path].provider_uuid, 2)
        self.draft = groups.described()
        revisions.start(self.context, self.group, self.draft)
        self.plan(
            {
                path: {
                    'provider': hold.provider_uuid,
                    'allocations': hold.allocations,
                }
                for path, hold in hold_of.items()
            }
        )

    def plan(self, staying):
        objects.VRTPlan(
            group_id=self.draft.id,
            status=objects.VRTPlan.PLACED,
            placement={**staying, self.first.path: self.there},
            answer={},
        ).create(self.context)

    def write_down(self):
        """Write down the first one's new seat, and another where it is."""
        own = objects.VRTHold.get_by_member(self.context, self.first.id)
        other = groups.seat(own.provider_uuid, 1)
        return objects.VRTHold.create_all(
            self.context,
            [
                objects.VRTHold.of(self.first, self.there),
                objects.VRTHold.of(self.draft.members[0], other),
            ],
        )

    def members(self):
        return changing_hands.members(self.context, self.group.id)

    def reserve(self, member):
        server = uuidutils.generate_uuid()
        own = {server: self.with_hold(member)}
        return changing_hands.reserve(self.context, own)

    def test_nobody_does_before_anything_is_written_down(self):
        self.assertEqual(set(), self.members())

    def test_who_leaves_its_place_becomes_none(self):
        self.write_down()

        self.assertEqual({self.first.id}, self.members())
        self.assertFalse(self.reserve(self.first))
        self.assertTrue(self.reserve(self.second))
        self.assertEqual('REDEEMING', self.with_hold(self.second)[1].status)

    def test_a_server_that_has_a_member_gets_no_other(self):
        """A request that is delivered twice may find two that are free."""
        server = uuidutils.generate_uuid()
        for member, is_free in ((self.first, True), (self.second, False)):
            own = {server: self.with_hold(member)}
            done = changing_hands.reserve(self.context, own)
            self.assertEqual(is_free, done)

    def test_a_hold_that_was_held_again_meanwhile_is_not_reserved(self):
        member, hold = self.with_hold(self.first)
        db.compare_and_set(
            self.context,
            models.Hold,
            models.Hold.id == hold.id,
            status=states.Hold.LEAVING,
        )
        again = hold.again()
        again.status = states.Hold.HELD
        again.create(self.context)

        own = {uuidutils.generate_uuid(): (member, hold)}

        self.assertFalse(changing_hands.reserve(self.context, own))
        self.assertEqual('HELD', self.with_hold(member)[1].status)

    def test_what_has_expired_is_not_reserved(self):
        db.compare_and_set(self.context, models.Group, expires_at=clock.now())

        self.assertFalse(self.reserve(self.second))

    def test_of_several_none_is_reserved_if_one_was_taken_meanwhile(self):
        [taken] = objects.VRTMember.list_by_ids(self.context, [self.second.id])
        taken.change(self.context, states.Member.REDEEMING)
        first, second = uuidutils.generate_uuid(), uuidutils.generate_uuid()

        self.assertFalse(
            changing_hands.reserve(
                self.context,
                {
                    first: self.with_hold(self.first),
                    second: self.with_hold(self.second),
                },
            )
        )

        [fresh] = objects.VRTMember.list_by_ids(self.context, [self.first.id])
        self.assertEqual(states.Member.HELD, fresh.status)
        self.assertIsNone(fresh.server_uuid)

    def test_who_leaves_does_again_when_that_is_over(self):
        rows = self.write_down()
        objects.VRTHold.retire(self.context, rows, is_answered=True)

        self.assertTrue(self.reserve(self.first))

    def test_who_has_come_since_the_members_were_read_is_left_out(self):
        self.write_down()
        new = objects.VRTHold.of(self.draft.members[0], self.there)
        new.group_id, new.status = self.group.id, states.Hold.HELD
        new.create(self.context)

        self.assertEqual({self.first.id}, self.members())

    def test_what_is_written_for_another_seat_is_no_heir(self):
        self.write_down()
        hold = objects.VRTHold.get_by_member(self.context, self.first.id)
        self.assertEqual([], objects.VRTHold.list_heirs(self.context, hold))

        heir = hold.again()
        heir.create(self.context)

        self.assertEqual(
            [heir.uuid],
            [h.uuid for h in objects.VRTHold.list_heirs(self.context, hold)],
        )

    def filler(self):
        """Return a filler that the group has."""
        row = objects.VRTHold.get_by_member(self.context, self.first.id)
        filler = row.again()
        filler.member_id, filler.status = None, states.Hold.HELD
        filler.create(self.context)
        return filler

    def statuses(self, *holds):
        return {
            row.status
            for row in objects.VRTHold.list_by_uuids(
                self.context, [hold.uuid for hold in holds]
            )
        }

    def test_a_filler_that_may_change_hands_is_not_dismissed(self):
        filler = self.filler()
        rows = self.write_down()

        changing_hands.dismiss(self.context, [filler])
        self.assertEqual({states.Hold.HELD}, self.statuses(filler))

        objects.VRTHold.retire(self.context, rows, is_answered=True)
        changing_hands.dismiss(self.context, [filler])
        self.assertEqual({states.Hold.LEAVING}, self.statuses(filler))

    def test_nothing_is_written_down_instead_of_a_filler_that_has_gone(self):
        filler = self.filler()
        changing_hands.dismiss(self.context, [filler])

        self.assertRaises(
            exception.GenerationConflict,
            changing_hands.begin,
            *(self.context, self.group, [filler], self.fail),
        )

    def test_who_is_held_anew_in_the_same_seat_becomes_none(self):
        own = objects.VRTHold.get_by_member(self.context, self.second.id)
        own.again().create(self.context)

        self.assertFalse(self.reserve(self.second))

    def test_a_group_whose_draft_waits_exchanges_nothing(self):
        exchanging = objects.VRTGroup.exchanging
        self.assertEqual(set(), exchanging(self.context))

        self.write_down()

        self.assertEqual({self.group.id}, exchanging(self.context))

    def test_nothing_is_written_down_for_who_becomes_a_server(self):
        own = objects.VRTHold.get_by_member(self.context, self.first.id)
        begin = changing_hands.begin
        self.assertEqual(
            'written',
            begin(self.context, self.group, [own], lambda: 'written'),
        )

        self.first.change(self.context, states.Member.REDEEMING)

        self.assertRaises(
            exception.GenerationConflict,
            begin,
            *(self.context, self.group, [own], self.fail),
        )

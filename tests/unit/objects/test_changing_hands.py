# SPDX-License-Identifier: Apache-2.0
"""Who becomes a server while a revision exchanges what is held?"""

from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
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
        return changing_hands.reserve(self.context, {server: member})

    def test_nobody_does_before_anything_is_written_down(self):
        self.assertEqual(set(), self.members())

    def test_who_leaves_its_place_becomes_none(self):
        self.write_down()

        self.assertEqual({self.first.id}, self.members())
        self.assertFalse(self.reserve(self.first))
        self.assertTrue(self.reserve(self.second))

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

    def test_nothing_is_written_down_for_who_becomes_a_server(self):
        ids = [self.first.id]
        begin = changing_hands.begin
        self.assertEqual(
            'written', begin(self.context, self.group, ids, lambda: 'written')
        )

        self.first.change(self.context, states.Member.REDEEMING)

        self.assertRaises(
            exception.GenerationConflict,
            begin,
            *(self.context, self.group, ids, self.fail),
        )

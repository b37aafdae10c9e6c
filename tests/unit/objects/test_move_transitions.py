# SPDX-License-Identifier: Apache-2.0
"""Writing the locations of servers that have moved."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import objects
from nova_groupext.objects import move_transitions
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from tests import groups
from tests.unit.objects import base


class TestFollow(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        group = self.create_held_group()
        member = group.members[0]
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        redeems.reserve(self.context, {uuids.server: (member, hold)})
        self.complete_redeem(member)
        self.member = member
        self.target = groups.placement(uuids.target, 1)

    def hold(self):
        return objects.VRTHold.find_by_member(self.context, self.member.id)

    def move(self):
        move = objects.VRTMove(
            group_id=self.member.group_id,
            member_id=self.member.id,
            server_uuid=uuids.server,
            host=uuids.target,
            node=uuids.target,
        )
        move_transitions.start_move(self.context, move)
        return move

    def follow(self, moves):
        return move_transitions.store_location(
            self.context, self.member, self.hold(), self.target, moves
        )

    def test_location_of_a_moved_server_is_written(self):
        self.assertTrue(self.follow([self.move()]))

        self.assertEqual(uuids.target, self.hold().provider_uuid)
        self.assertEqual(states.Hold.REDEEMED, self.hold().status)

    def test_location_read_before_a_move_is_not_written(self):
        self.move()

        self.assertFalse(self.follow([]))

        self.assertNotEqual(uuids.target, self.hold().provider_uuid)

    def test_location_of_a_finished_move_is_not_written(self):
        move = self.move()
        objects.VRTMove.delete_all(self.context, [move])

        self.assertFalse(self.follow([move]))

        self.assertNotEqual(uuids.target, self.hold().provider_uuid)

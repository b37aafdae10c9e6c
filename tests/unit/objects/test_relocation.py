# SPDX-License-Identifier: Apache-2.0
"""Is what Nova has said of a server written only while it is true?"""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import objects
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from tests import groups
from tests.unit.objects import base


class TestFollow(base.HeldCase):
    def setUp(self):
        super().setUp()
        group = self.held()
        member = group.members[0]
        hold = objects.VRTHold.get_by_member(self.context, member.id)
        transitions.reserve(self.context, {uuids.server: (member, hold)})
        self.become_server(member)
        self.member = member
        self.excluded_hosts = groups.seat(uuids.excluded_hosts, 1)

    def hold(self):
        return objects.VRTHold.get_by_member(self.context, self.member.id)

    def move(self):
        move = objects.VRTMove(
            group_id=self.member.group_id,
            member_id=self.member.id,
            server_uuid=uuids.server,
            host=uuids.excluded_hosts,
            node=uuids.excluded_hosts,
        )
        relocation.begin_move(self.context, move)
        return move

    def follow(self, moves):
        return relocation.follow(
            self.context, self.member, self.hold(), self.excluded_hosts, moves
        )

    def test_server_that_has_moved_is_followed(self):
        self.assertTrue(self.follow([self.move()]))

        self.assertEqual(uuids.excluded_hosts, self.hold().provider_uuid)
        self.assertEqual(states.Hold.REDEEMED, self.hold().status)

    def test_look_from_before_a_move_is_not_written(self):
        self.move()

        self.assertFalse(self.follow([]))

        self.assertNotEqual(uuids.excluded_hosts, self.hold().provider_uuid)

    def test_look_at_a_move_that_another_has_followed_is_not_written(self):
        move = self.move()
        objects.VRTMove.forget(self.context, [move])

        self.assertFalse(self.follow([move]))

        self.assertNotEqual(uuids.excluded_hosts, self.hold().provider_uuid)

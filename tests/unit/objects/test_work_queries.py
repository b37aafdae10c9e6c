# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/work_queries.py``."""

from oslo_utils import uuidutils

from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from tests import groups
from tests.unit.objects import base


class TestGroupState(base.HeldGroupTestCase):
    def state(self, group, servers=()):
        return VRTGroup.find_state(self.context, group.id, servers)

    def redeem_for_server(self, member):
        """Redeem a member's hold for a new server; return its uuid."""
        server = uuidutils.generate_uuid()
        own = {server: self.member_and_hold(member)}
        self.assertTrue(redeems.reserve(self.context, own))
        return server

    def test_state_is_that_of_the_group(self):
        group = self.create_held_group()

        state = self.state(group)

        self.assertEqual(
            (group.id, group.uuid, 'HELD', 1),
            (state.id, state.uuid, state.status, state.definition_generation),
        )
        self.assertTrue(state.may_have_holds)
        self.assertFalse(state.has_expired)
        self.assertTrue(state.has_policies)

    def test_group_without_policies_has_none(self):
        group = groups.equal_members(1)
        group.create(self.context)

        self.assertFalse(self.state(group).has_policies)

    def test_only_a_binding_draft_is_named(self):
        group = self.create_held_group()
        draft = groups.unstored(revises_id=group.id)
        draft.create(self.context)
        self.assertIsNone(self.state(group).binding_draft)

        draft.update_row(self.context, is_binding=True)

        self.assertEqual(draft.uuid, self.state(group).binding_draft)

    def test_server_of_another_group_has_a_member(self):
        group = self.create_held_group()
        other = self.create_held_group()
        server = self.redeem_for_server(other.members[0])
        unknown = uuidutils.generate_uuid()
        self.assertFalse(self.state(group, [unknown]).have_members)

        self.assertTrue(self.state(group, [unknown, server]).have_members)

    def test_server_of_a_deleted_group_has_no_member(self):
        group = self.create_held_group()
        other = self.create_held_group()
        server = self.redeem_for_server(other.members[0])
        self.get(other).change(self.context, states.Group.RELEASING)

        self.assertFalse(self.state(group, [server]).have_members)

    def test_unknown_group_has_no_state(self):
        self.assertIsNone(VRTGroup.find_state(self.context, 0))

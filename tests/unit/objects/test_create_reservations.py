# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/create_reservations.py``."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext.membership import settle_group
from nova_groupext.objects import create_reservations
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from tests import groups
from tests.unit.objects import base
from tests.unit.objects import creating

Status = states.Create


class TestReserving(creating.CreateCase):
    """A create for which a draft has placed two members."""

    def setUp(self):
        super().setUp()
        self.create_ = self.start(uuids.one, uuids.two)
        self.paths = ['workers/worker-0', 'workers/worker-1']
        members = dict(zip((uuids.one, uuids.two), self.paths, strict=True))
        self.create_.choose(self.context, members, draft_id=7)
        self.draft = VRTGroup(
            id=7,
            uuid=uuids.draft,
            is_for_creates=True,
            excluded_nodes={path: [] for path in self.paths},
        )

    def reserve(self):
        create_reservations.reserve_placed(
            self.context, self.group.id, self.draft
        )

    def are_open(self):
        return create_reservations.are_open(self.context, self.draft)

    def reserved(self):
        return [
            member.reserved_for
            for member in self.get(self.group).members
            if member.path in self.paths
        ]

    def change_member(self, **values):
        member = self.get(self.group).members[1]
        member.update_row(self.context, **values)

    def test_members_are_reserved_for_their_servers(self):
        self.assertTrue(self.are_open())

        self.reserve()

        self.assertEqual([uuids.one, uuids.two], self.reserved())
        self.assertEqual(Status.PLACED, self.current(self.create_).status)

    def test_nothing_is_reserved_if_a_member_is_reserved_already(self):
        self.change_member(reserved_for=uuids.other)

        self.reserve()

        self.assertEqual([uuids.other, uuids.draft], self.reserved())
        self.assertEqual(Status.OPEN, self.current(self.create_).status)

    def test_nothing_is_reserved_if_a_member_is_not_held(self):
        self.change_member(status=states.Member.FAILED)

        self.reserve()

        self.assertEqual([None, uuids.draft], self.reserved())
        self.assertEqual(Status.OPEN, self.current(self.create_).status)

    def test_members_of_a_create_that_was_given_up_are_surplus(self):
        self.create_.give_up(self.context)
        self.assertFalse(self.are_open())

        self.reserve()

        self.assertEqual([uuids.draft] * 2, self.reserved())
        self.assertEqual(
            [self.group.id], settle_group.list_groups(self.context)
        )

    def test_draft_of_an_ended_create_is_not_open(self):
        self.create_.update_row(self.context, ends_at=base.NOON)

        self.assertFalse(self.are_open())

    def test_other_drafts_need_no_creates(self):
        self.create_.give_up(self.context)
        self.draft.is_for_creates = False

        self.assertTrue(self.are_open())
        self.reserve()
        self.assertEqual([None, None], self.reserved())

    def test_held_members_are_reserved_under_a_lease(self):
        lease = groups.acquire_lease(self.context, self.group)

        create_reservations.reserve_held(
            self.context, lease, self.current(self.create_)
        )

        self.assertEqual([uuids.one, uuids.two], self.reserved())

    def test_held_members_are_not_reserved_after_the_lease_was_lost(self):
        lease = groups.acquire_lease(self.context, self.group)
        lease.release(self.context)

        self.assertRaises(
            exception.GroupBusy,
            *(create_reservations.reserve_held, self.context, lease),
            self.current(self.create_),
        )

        self.assertEqual([None, None], self.reserved())

    def test_withdrawn_create_frees_its_members(self):
        self.reserve()
        other = self.get(self.group).members[0]
        other.update_row(self.context, reserved_for=uuids.other)

        self.create_.withdraw(self.context)

        self.assertIsNone(self.current(self.create_))
        reserved = [m.reserved_for for m in self.get(self.group).members]
        self.assertEqual([uuids.other, None, None], reserved[:3])

    def test_reserved_member_is_redeemed_by_its_server_alone(self):
        self.reserve()

        [_master, member, _other] = self.get(self.group).members

        self.assertIn('waits for it', member.redeem_obstacle())
        self.assertEqual(uuids.one, member.own_server)

    def redeem(self, server, member):
        [hold] = [
            each
            for each in VRTHold.list_by_group(self.context, self.group.id)
            if each.member_id == member.id
        ]
        return redeems.reserve(self.context, {server: (member, hold)})

    def test_member_that_was_reserved_meanwhile_is_no_other_servers(self):
        """Another scheduler has read it before, when it was free."""
        free = self.get(self.group).members[1]
        self.reserve()

        self.assertFalse(self.redeem(uuids.other, free))

        self.assertEqual([uuids.one, uuids.two], self.reserved())
        self.assertTrue(self.redeem(uuids.one, free))

    def test_members_of_other_groups_are_not_reserved(self):
        other = self.create_held_group()

        self.reserve()

        self.assertEqual(
            {None}, {each.reserved_for for each in self.get(other).members}
        )

    def test_only_members_of_the_draft_are_reserved(self):
        self.reserve()

        master = self.get(self.group).members[0]
        self.assertIsNone(master.reserved_for)

    def test_create_whose_time_is_over_is_not_placed(self):
        self.create_.update_row(self.context, ends_at=base.NOON)

        self.reserve()

        self.assertEqual([uuids.draft] * 2, self.reserved())
        self.assertEqual(
            0, create_reservations.count_servers(self.context, self.draft)
        )

    def test_held_members_are_not_reserved_when_the_time_is_over(self):
        lease = groups.acquire_lease(self.context, self.group)
        self.create_.update_row(self.context, ends_at=base.NOON)

        create_reservations.reserve_held(
            self.context, lease, self.current(self.create_)
        )

        self.assertEqual([None, None], self.reserved())

    def test_draft_of_which_one_create_was_given_up_is_not_open(self):
        other = self.start(uuids.three)
        other.choose(
            self.context, {uuids.three: 'master'}, draft_id=self.draft.id
        )
        self.draft.excluded_nodes['master'] = []
        self.assertTrue(self.are_open())

        other.give_up(self.context)

        self.assertFalse(self.are_open())

    def test_placed_create_does_not_change_any_more(self):
        self.reserve()

        self.create_.fail(self.context, 'late')
        self.create_.choose(self.context, {uuids.one: 'master'}, draft_id=8)

        current = self.current(self.create_)
        self.assertEqual(Status.PLACED, current.status)
        self.assertNotIn('master', (current.members or {}).values())

# SPDX-License-Identifier: Apache-2.0
"""Swaps of holds: prepared, committed and compensated."""

import datetime

from oslo_utils import uuidutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from nova_groupext.objects import redeems
from nova_groupext.objects import releases
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from tests import fixtures
from tests import groups
from tests.unit.objects import base

Member = states.Member
Group = states.Group
Hold = states.Hold
Side = swaps.Side
NOON = datetime.datetime(2026, 11, 1, 12)
SOON = NOON + datetime.timedelta(seconds=60)
LATER = NOON + datetime.timedelta(hours=1)


class SwapCase(base.HeldGroupTestCase):
    """A group whose first member moves and whose third is left out."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.first, self.second, self.third = self.group.members
        self.lease = groups.acquire_lease(self.context, self.group)

    def draft(self, excluded_nodes=None, without=()):
        self.group = self.get(self.group)
        draft = drafts.replacement_of(self.group, excluded_nodes)
        drafts.store(self.context, self.group, draft)
        placed = [m for m in self.group.members if m.path not in without]
        objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placements={
                m.path: groups.placement(uuids.host, 1) for m in placed
            },
            answer={},
        ).create(self.context)
        return draft

    def hold_of(self, member):
        return objects.VRTHold.find_by_member(self.context, member.id)

    def row(self, member):
        """Return a hold on another provider, not created yet."""
        return objects.VRTHold.for_member(
            member, groups.placement(uuids.host, 1)
        )

    def beside(self, *members):
        return objects.VRTHold.create_all(
            self.context, [self.row(member) for member in members]
        )

    def check(self):
        """Accept every swap."""

    def commit(self, draft, swap, check=None, **values):
        """Commit a swap; one that was not prepared is checked."""
        if check is None and not swap.is_prepared:
            check = self.check
        revisions.commit(
            *(self.context, self.lease, self.group, draft, swap),
            check,
            **values,
        )

    def prepared(self, draft):
        old, leaving = self.hold_of(self.first), self.hold_of(self.third)
        swap = swaps.Swap(
            [old],
            swaps.pair_successors([old], [self.row(self.first)]),
            [],
            [leaving],
        )
        return revisions.prepare(
            *(self.context, self.lease, self.group, draft, swap, self.check)
        )

    def take_over(self):
        """Acquire the lease of the group for another planner."""
        objects.VRTLease.end_all(self.context, [self.lease.operation])
        self.assertIsNotNone(groups.acquire_lease(self.context, self.group))

    def statuses(self):
        """Return [(status of a member, status of its hold or None)]."""
        rows = {
            hold.member_id: hold.status
            for hold in self.holds_of(self.group)
            if hold.status in states.HOLD_COMMITTED
        }
        members = self.get(self.group).members
        return [(member.status, rows.get(member.id)) for member in members]


class TestPrepared(SwapCase):
    def setUp(self):
        super().setUp()
        self.old = self.hold_of(self.first)
        self.made = self.draft()

    def reserve(self, member):
        own = {uuidutils.generate_uuid(): self.member_and_hold(member)}
        return redeems.reserve(self.context, own)

    def test_member_in_a_prepared_swap_is_not_reserved(self):
        self.prepared(self.made)

        ids = [member.id for member in self.group.members]
        self.assertEqual(
            {self.second.id},
            {*objects.VRTHold.redeemable_by_member(self.context, ids)},
        )
        for member, is_free in (
            (self.first, False),
            (self.second, True),
            (self.third, False),
        ):
            self.assertEqual(is_free, self.reserve(member), member.path)

    def test_release_of_a_member_in_a_prepared_swap_is_refused(self):
        self.prepared(self.made)
        before = self.statuses()

        for member in (self.first, self.third):
            self.assertRaises(
                exception.MemberStateConflict,
                releases.release_members,
                *(self.context, self.group, [member]),
            )

        self.assertEqual(before, self.statuses())
        self.assertTrue(releases.release_members(self.context, self.group))
        self.assertEqual(
            [Member.HELD, Member.RELEASED, Member.HELD],
            [member.status for member in self.get(self.group).members],
        )

    def test_release_of_all_during_a_swap_is_refused(self):
        swap = self.prepared(self.made)
        before = self.statuses()

        self.assertRaises(
            exception.GroupStateConflict,
            releases.release_all,
            *(self.context, self.group),
        )

        self.assertEqual(before, self.statuses())
        revisions.compensate(self.context, self.lease, self.made, swap, ())
        self.assertTrue(releases.release_all(self.context, self.group))

    def test_prepared_swap_can_be_read_from_the_rows(self):
        self.assertIsNone(swaps.Swap.load(self.context, self.group.id))

        swap = self.prepared(self.made)

        read = swaps.Swap.load(self.context, self.group.id)
        for name in ('old_holds', 'successors', 'ending', 'separate'):
            self.assertEqual(
                [each.uuid for each in getattr(swap, name)],
                [each.uuid for each in getattr(read, name)],
                name,
            )
        self.assertEqual(
            self.made.uuid,
            objects.VRTGroup.find_binding_draft(self.context, self.group.id),
        )

    def test_swap_of_a_member_redeemed_meanwhile_conflicts(self):
        swap = swaps.Swap([self.old], [self.row(self.first)])
        self.assertTrue(self.reserve(self.first))

        self.assertRaises(
            exception.GenerationConflict,
            revisions.prepare,
            *(self.context, self.lease, self.group, self.made),
            *(swap, self.check),
        )

        self.assertEqual(
            (Member.REDEEMING, Hold.REDEEMING), self.statuses()[0]
        )
        self.assertIsNone(swaps.Swap.load(self.context, self.group.id))

    def test_prepare_without_the_lease_is_refused(self):
        before = self.statuses()
        self.take_over()

        self.assertRaises(exception.GroupBusy, self.prepared, self.made)

        self.assertEqual(before, self.statuses())

    def test_prepare_for_a_deleted_group_conflicts(self):
        self.group.mark_deleted(self.context)

        self.assertRaises(
            exception.GenerationConflict, self.prepared, self.made
        )


class TestPrepare(SwapCase):
    def test_no_hold_is_prepared_if_one_was_changed_meanwhile(self):
        holds = [self.hold_of(each) for each in (self.first, self.second)]
        objects.VRTHold.update_rows(
            self.context,
            models.Hold.id == holds[1].id,
            status=Hold.REDEEMING,
        )

        self.assertRaises(
            exception.GenerationConflict,
            swaps.with_lease,
            *(self.context, self.lease),
            lambda: swaps.prepare(self.context, self.lease, holds),
        )

        self.assertEqual(Hold.HELD, self.hold_of(self.first).status)


class TestCommit(SwapCase):
    def test_moved_member_is_held_by_its_successor(self):
        draft = self.draft()
        swap = self.prepared(draft)

        self.commit(draft, swap)

        [successor] = swap.successors
        self.assertEqual(successor.uuid, self.hold_of(self.first).uuid)
        self.assertEqual(
            [
                (Member.HELD, Hold.HELD),
                (Member.HELD, Hold.HELD),
                (Member.TENTATIVE, None),
            ],
            self.statuses(),
        )
        self.assertEqual(Group.RELEASING, self.get(draft).status)
        self.assertIsNone(swaps.Swap.load(self.context, self.group.id))

    def test_committed_draft_is_not_prepared_any_more(self):
        draft = self.draft()

        self.commit(draft, self.prepared(draft))

        self.assertIsNone(
            objects.VRTGroup.find_binding_draft(self.context, self.group.id)
        )

    def test_commit_without_the_lease_is_refused(self):
        draft = self.draft()
        swap = self.prepared(draft)
        before = self.statuses()
        self.take_over()

        self.assertRaises(exception.GroupBusy, self.commit, draft, swap)

        self.assertEqual(before, self.statuses())

    def test_successor_of_a_deleted_group_is_releasing(self):
        draft = self.draft()
        swap = self.prepared(draft)
        self.group.mark_deleted(self.context)

        self.commit(draft, swap)

        [successor] = objects.VRTHold.list_by_uuids(
            self.context, [swap.successors[0].uuid]
        )
        self.assertEqual(Hold.RELEASING, successor.status)
        self.assertEqual(Group.RELEASING, self.get(self.group).status)

    def test_member_of_a_lost_successor_is_failed(self):
        draft = self.draft()
        swap = self.prepared(draft)

        lost = {swap.successors[0].uuid}
        self.commit(draft, swap, lost=lost, is_watched=True)

        self.assertEqual((Member.FAILED, None), self.statuses()[0])

    def test_failed_member_is_held_by_a_replan(self):
        self.end_hold(self.first, Member.FAILED)
        draft = self.draft({self.first.path: []})

        self.commit(draft, swaps.Swap([], [], self.beside(self.first)))

        self.assertEqual((Member.HELD, Hold.HELD), self.statuses()[0])

    def test_replan_holds_a_group_whose_members_have_all_failed(self):
        for member in self.group.members:
            self.end_hold(member, Member.FAILED)
        self.group = self.get(self.group)
        self.assertEqual(Group.RELEASED, self.group.status)
        draft = self.draft({self.first.path: []})

        self.commit(draft, swaps.Swap([], [], self.beside(self.first)))

        self.assertEqual(Group.HELD, self.get(self.group).status)

    def test_replan_of_a_member_released_meanwhile_conflicts(self):
        draft = self.draft({self.first.path: []})
        swap = swaps.Swap([], [], self.beside(self.first))
        releases.release_members(self.context, self.group, [self.first])

        self.assertRaises(
            exception.GenerationConflict, self.commit, draft, swap
        )

        self.assertEqual((Member.RELEASED, None), self.statuses()[0])

    def test_member_released_after_prepare_is_not_held(self):
        self.end_hold(self.second, Member.FAILED)
        draft = self.draft({self.second.path: []})
        swap = self.prepared(draft)
        [beside] = self.beside(self.second)
        releases.release_members(self.context, self.group, [self.second])

        self.commit(
            draft, swaps.Swap(swap.old_holds, swap.successors, [beside])
        )

        self.assertEqual((Member.RELEASED, None), self.statuses()[1])
        [row] = objects.VRTHold.list_by_uuids(self.context, [beside.uuid])
        self.assertEqual(Hold.RELEASING, row.status)

    def test_held_member_keeps_the_uuid_of_its_requested_server(self):
        """Otherwise a boot of the group would create a second server."""
        self.first.change(
            self.context, Member.HELD, server_uuid=uuids.on_its_way
        )
        draft = self.draft()

        self.commit(draft, self.prepared(draft))

        self.assertEqual(
            uuids.on_its_way, self.get(self.group).members[0].server_uuid
        )

    def test_failed_member_loses_the_uuid_of_its_server(self):
        self.redeem(self.first)
        old = self.hold_of(self.first)
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == self.first.id,
            status=Member.FAILED,
            server_uuid=uuids.failed,
        )
        draft = self.draft({self.first.path: []})

        self.commit(draft, swaps.Swap([], [], self.beside(self.first)))

        self.assertIsNone(self.get(self.group).members[0].server_uuid)
        [row] = objects.VRTHold.list_by_uuids(self.context, [old.uuid])
        self.assertEqual(Hold.RELEASED, row.status)


class TestCompensate(SwapCase):
    def test_compensated_member_is_held_on_its_old_host(self):
        before = self.statuses()
        old = self.hold_of(self.first)
        draft = self.draft()
        swap = self.prepared(draft)

        revisions.compensate(self.context, self.lease, draft, swap, ())

        self.assertEqual(before, self.statuses())
        now = self.hold_of(self.first)
        self.assertEqual(swap.successors[0].uuid, now.uuid)
        self.assertEqual(old.capacity_columns(), now.capacity_columns())
        self.assertIsNone(
            objects.VRTGroup.find_binding_draft(self.context, self.group.id)
        )
        self.assertIsNone(swaps.Swap.load(self.context, self.group.id))

    def test_compensated_draft_can_be_prepared_and_committed(self):
        draft = self.draft()
        swap = self.prepared(draft)
        revisions.compensate(self.context, self.lease, draft, swap, ())

        self.commit(draft, self.prepared(draft))

        self.assertEqual((Member.TENTATIVE, None), self.statuses()[2])

    def test_member_of_a_lost_compensation_is_failed(self):
        draft = self.draft()
        swap = self.prepared(draft)

        lost = {swap.successors[0].uuid}
        revisions.compensate(self.context, self.lease, draft, swap, lost)

        self.assertEqual((Member.FAILED, None), self.statuses()[0])

    def test_successor_of_a_compensated_swap_is_watched(self):
        draft = self.draft()
        swap = self.prepared(draft)
        revisions.compensate(self.context, self.lease, draft, swap, ())

        [row] = objects.VRTHold.list_by_uuids(
            self.context, [swap.successors[0].uuid]
        )

        self.assertIsNotNone(row.watched_at)


class TestPair(SwapCase):
    def test_every_old_hold_is_paired_with_a_successor(self):
        old_holds = [self.hold_of(self.first), self.hold_of(self.second)]

        found = swaps.pair_successors(old_holds, [self.row(self.third)])

        self.assertEqual(
            [old.uuid for old in old_holds],
            [each.if_compensated['uuid'] for each in found],
        )
        self.assertEqual({}, found[1].allocations)

    def test_successor_without_an_old_hold_has_no_compensation(self):
        old = self.hold_of(self.first)

        [_one, other] = swaps.pair_successors(
            [old], [self.row(self.first), self.row(self.third)]
        )

        self.assertIsNone(other.as_compensated())


class TestExpiry(SwapCase):
    """A group may be extended while its revision is planned."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))

    def revised(self, expires_at, excluded_nodes=None, extended=None):
        """Return the expiry of a group after a revision."""
        self.group = self.create_held_group(expires_at)
        self.first, self.second, self.third = self.group.members
        self.lease = groups.acquire_lease(self.context, self.group)
        draft = self.draft(excluded_nodes)
        if extended is not None:
            self.group.extend(self.context, extended)
        self.commit(draft, swaps.Swap([], []))
        return self.get(self.group).expires_at

    def test_extension_during_a_revision_is_kept(self):
        for excluded_nodes in (None, {}):
            self.assertEqual(LATER, self.revised(SOON, excluded_nodes, 3600))

    def test_replan_keeps_an_expiry_that_was_shortened(self):
        self.assertEqual(SOON, self.revised(LATER, {}, extended=60))

    def test_revision_expires_like_a_new_group(self):
        for before in (None, NOON):
            self.assertEqual(SOON, self.revised(before))

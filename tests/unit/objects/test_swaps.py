# SPDX-License-Identifier: Apache-2.0
"""What do rows and members say while holds change hands, and after that?"""

import datetime

from oslo_utils import uuidutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
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


class SwapCase(base.HeldCase):
    """The first of three members moves, the third is left out."""

    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.first, self.second, self.third = self.group.members
        self.lease = groups.lease(self.context, self.group)

    def draft(self, excluded_hosts=None, without=()):
        self.group = self.get(self.group)
        draft = revisions.again(self.group, excluded_hosts)
        revisions.start(self.context, self.group, draft)
        placed = [m for m in self.group.members if m.path not in without]
        objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placement={m.path: groups.seat(uuids.host, 1) for m in placed},
            answer={},
        ).create(self.context)
        return draft

    def hold_of(self, member):
        return objects.VRTHold.get_by_member(self.context, member.id)

    def row(self, member):
        """A hold of another place, not created yet."""
        return objects.VRTHold.of(member, groups.seat(uuids.host, 1))

    def beside(self, *members):
        return objects.VRTHold.create_all(
            self.context, [self.row(member) for member in members]
        )

    def check(self):
        """Nothing speaks against it."""

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
            [old], swaps.pair([old], [self.row(self.first)]), [], [leaving]
        )
        return revisions.prepare(
            *(self.context, self.lease, self.group, draft, swap, self.check)
        )

    def take_over(self):
        """Another planner has the group by now."""
        objects.VRTLease.end(self.context, [self.lease.operation])
        self.assertIsNotNone(groups.lease(self.context, self.group))

    def statuses(self):
        """{member path: (its status, its hold's)}, of those that have both."""
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
        own = {uuidutils.generate_uuid(): self.with_hold(member)}
        return transitions.reserve(self.context, own)

    def test_who_changes_hands_or_leaves_becomes_no_server(self):
        self.prepared(self.made)

        for member, is_free in (
            (self.first, False),
            (self.second, True),
            (self.third, False),
        ):
            self.assertEqual(is_free, self.reserve(member), member.path)
        ids = [member.id for member in self.group.members]
        self.assertEqual(
            {self.first.id, self.third.id},
            objects.VRTHold.changing(self.context, ids),
        )

    def test_nor_is_it_released_by_its_owner(self):
        self.prepared(self.made)
        before = self.statuses()

        for member in (self.first, self.third):
            self.assertRaises(
                exception.MemberStateConflict,
                transitions.give_up,
                *(self.context, self.group, [member]),
            )

        self.assertEqual(before, self.statuses())
        self.assertTrue(transitions.give_up(self.context, self.group))
        self.assertEqual(
            [Member.HELD, Member.RELEASED, Member.HELD],
            [member.status for member in self.get(self.group).members],
        )

    def test_it_is_what_a_swap_of_the_group_is(self):
        self.assertIsNone(swaps.Swap.of(self.context, self.group.id))

        swap = self.prepared(self.made)

        read = swaps.Swap.of(self.context, self.group.id)
        for name in ('olds', 'successors', 'leaving', 'beside'):
            self.assertEqual(
                [each.uuid for each in getattr(swap, name)],
                [each.uuid for each in getattr(read, name)],
                name,
            )
        self.assertEqual(
            self.made.uuid,
            objects.VRTGroup.prepared_draft(self.context, self.group.id),
        )

    def test_who_was_redeemed_meanwhile_is_not_exchanged(self):
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
        self.assertIsNone(swaps.Swap.of(self.context, self.group.id))

    def test_who_has_lost_the_lease_prepares_nothing(self):
        before = self.statuses()
        self.take_over()

        self.assertRaises(exception.GroupBusy, self.prepared, self.made)

        self.assertEqual(before, self.statuses())

    def test_a_group_that_was_deleted_prepares_nothing(self):
        self.group.mark_deleted(self.context)

        self.assertRaises(
            exception.GenerationConflict, self.prepared, self.made
        )


class TestCommit(SwapCase):
    def test_who_moves_is_held_by_its_successor(self):
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
        self.assertIsNone(swaps.Swap.of(self.context, self.group.id))

    def test_a_draft_that_counts_is_prepared_no_more(self):
        draft = self.draft()

        self.commit(draft, self.prepared(draft))

        self.assertIsNone(
            objects.VRTGroup.prepared_draft(self.context, self.group.id)
        )

    def test_who_has_lost_the_lease_commits_nothing(self):
        draft = self.draft()
        swap = self.prepared(draft)
        before = self.statuses()
        self.take_over()

        self.assertRaises(exception.GroupBusy, self.commit, draft, swap)

        self.assertEqual(before, self.statuses())

    def test_of_a_group_that_was_deleted_nothing_is_held(self):
        draft = self.draft()
        swap = self.prepared(draft)
        self.group.mark_deleted(self.context)

        self.commit(draft, swap)

        [successor] = objects.VRTHold.list_by_uuids(
            self.context, [swap.successors[0].uuid]
        )
        self.assertEqual(Hold.RELEASING, successor.status)
        self.assertEqual(Group.RELEASING, self.get(self.group).status)

    def test_what_is_gone_from_placement_is_nobodys(self):
        draft = self.draft()
        swap = self.prepared(draft)

        lost = {swap.successors[0].uuid}
        self.commit(draft, swap, lost=lost, is_watched=True)

        self.assertEqual((Member.FAILED, None), self.statuses()[0])

    def test_who_has_failed_is_held_by_a_replan(self):
        self.end(self.first, Member.FAILED)
        draft = self.draft({self.first.path: []})

        self.commit(draft, swaps.Swap([], [], self.beside(self.first)))

        self.assertEqual((Member.HELD, Hold.HELD), self.statuses()[0])

    def test_where_all_have_failed_a_replan_holds_the_group_again(self):
        for member in self.group.members:
            self.end(member, Member.FAILED)
        self.group = self.get(self.group)
        self.assertEqual(Group.RELEASED, self.group.status)
        draft = self.draft({self.first.path: []})

        self.commit(draft, swaps.Swap([], [], self.beside(self.first)))

        self.assertEqual(Group.HELD, self.get(self.group).status)

    def test_who_was_released_is_not_held_by_a_replan(self):
        draft = self.draft({self.first.path: []})
        swap = swaps.Swap([], [], self.beside(self.first))
        transitions.give_up(self.context, self.group, [self.first])

        self.assertRaises(
            exception.GenerationConflict, self.commit, draft, swap
        )

        self.assertEqual((Member.RELEASED, None), self.statuses()[0])

    def test_who_is_released_after_that_was_prepared_is_not_held_either(self):
        self.end(self.second, Member.FAILED)
        draft = self.draft({self.second.path: []})
        swap = self.prepared(draft)
        [beside] = self.beside(self.second)
        transitions.give_up(self.context, self.group, [self.second])

        self.commit(draft, swaps.Swap(swap.olds, swap.successors, [beside]))

        self.assertEqual((Member.RELEASED, None), self.statuses()[1])
        [row] = objects.VRTHold.list_by_uuids(self.context, [beside.uuid])
        self.assertEqual(Hold.RELEASING, row.status)

    def test_to_who_was_held_its_server_may_still_be_on_the_way(self):
        """Else whoever boots the group creates another one."""
        self.first.change(
            self.context, Member.HELD, server_uuid=uuids.on_its_way
        )
        draft = self.draft()

        self.commit(draft, self.prepared(draft))

        self.assertEqual(
            uuids.on_its_way, self.get(self.group).members[0].server_uuid
        )

    def test_of_who_has_failed_the_server_is_forgotten(self):
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


class TestTurnBack(SwapCase):
    def test_who_was_to_move_is_held_where_it_was_by_its_successor(self):
        before = self.statuses()
        old = self.hold_of(self.first)
        draft = self.draft()
        swap = self.prepared(draft)

        revisions.turn_back(self.context, self.lease, draft, swap, ())

        self.assertEqual(before, self.statuses())
        now = self.hold_of(self.first)
        self.assertEqual(swap.successors[0].uuid, now.uuid)
        self.assertEqual({**old.place(), 'uuid': now.uuid}, now.place())
        self.assertIsNone(
            objects.VRTGroup.prepared_draft(self.context, self.group.id)
        )
        self.assertIsNone(swaps.Swap.of(self.context, self.group.id))

    def test_it_is_prepared_anew_after_that(self):
        draft = self.draft()
        swap = self.prepared(draft)
        revisions.turn_back(self.context, self.lease, draft, swap, ())

        self.commit(draft, self.prepared(draft))

        self.assertEqual((Member.TENTATIVE, None), self.statuses()[2])

    def test_of_a_successor_that_owns_nothing_the_member_fails(self):
        draft = self.draft()
        swap = self.prepared(draft)

        lost = {swap.successors[0].uuid}
        revisions.turn_back(self.context, self.lease, draft, swap, lost)

        self.assertEqual((Member.FAILED, None), self.statuses()[0])

    def test_requests_that_may_still_come_are_watched(self):
        draft = self.draft()
        swap = self.prepared(draft)
        revisions.turn_back(self.context, self.lease, draft, swap, ())

        [row] = objects.VRTHold.list_by_uuids(
            self.context, [swap.successors[0].uuid]
        )

        self.assertIsNotNone(row.watched_at)


class TestPair(SwapCase):
    def test_every_hold_has_a_successor_of_its_own(self):
        olds = [self.hold_of(self.first), self.hold_of(self.second)]

        found = swaps.pair(olds, [self.row(self.third)])

        self.assertEqual(
            [old.uuid for old in olds],
            [each.otherwise['uuid'] for each in found],
        )
        self.assertEqual({}, found[1].allocations)

    def test_what_has_no_counterpart_is_nothing_otherwise(self):
        old = self.hold_of(self.first)

        [_one, other] = swaps.pair(
            [old], [self.row(self.first), self.row(self.third)]
        )

        self.assertIsNone(other.turned_back())


class TestExpiry(SwapCase):
    """A group may be extended while it is planned around what it has."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Clock(NOON))

    def revised(self, expires_at, excluded_hosts=None, extended=None):
        """Return until when a group is held after a revision."""
        self.group = self.held(expires_at)
        self.first, self.second, self.third = self.group.members
        self.lease = groups.lease(self.context, self.group)
        draft = self.draft(excluded_hosts)
        if extended is not None:
            self.group.extend(self.context, extended)
        self.commit(draft, swaps.Swap([], []))
        return self.get(self.group).expires_at

    def test_nothing_of_an_extension_is_lost(self):
        for excluded_hosts in (None, {}):
            self.assertEqual(LATER, self.revised(SOON, excluded_hosts, 3600))

    def test_a_replan_leaves_a_group_that_expires_sooner_as_it_is(self):
        self.assertEqual(SOON, self.revised(LATER, {}, extended=60))

    def test_a_revision_is_held_as_long_as_a_new_group(self):
        for before in (None, NOON):
            self.assertEqual(SOON, self.revised(before))

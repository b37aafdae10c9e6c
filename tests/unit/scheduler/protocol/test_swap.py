# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/swap.py``."""

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.protocol import swap as protocol
from tests import groups
from tests.services import deployment
from tests.unit.scheduler import base

Side = swaps.Side


class TestSwap(base.ProtocolTestCase):
    """Two members exchange their hosts, which have no other capacity."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (
            self.deployment.make_provider(1) for _each in range(2)
        )
        self.uuid = self.deployment.hold_group([self.first, self.second])
        self.lease = self.acquire_lease(self.uuid)
        self.old = {'m-0': self.first, 'm-1': self.second}
        self.new = {'m-0': self.second, 'm-1': self.first}
        self.old_holds = [
            self.deployment.hold(self.uuid, path) for path in self.old
        ]
        self.posts.clear()

    def prepare(self):
        rows = [
            VRTHold.for_member(
                self.deployment.member(self.uuid, path),
                groups.placement(provider, deployment.MEMBER_VCPUS),
            )
            for path, provider in self.new.items()
        ]
        successors = swaps.pair_successors(self.old_holds, rows)

        def work():
            swaps.prepare(self.context, self.lease, self.old_holds)
            return VRTHold.create_all(self.context, successors)

        created = swaps.with_lease(self.context, self.lease, work)
        return swaps.Swap(self.old_holds, created)

    def apply(self, swap):
        def commit():
            swap_results.commit(
                *(self.context, self.lease, swap, Side.APPLIED),
            )

        return protocol.apply_and_commit(
            *(self.context, self.deployment.placement_client()),
            *(self.lease, swap, commit),
        )

    def providers(self):
        """Return the providers of held members; expect nothing unfinished."""
        self.assertEqual([], self.holds(self.uuid, *states.HOLD_OPEN))
        self.assert_one_owner()
        return self.deployment.held_providers(self.uuid)

    def test_swap_is_one_request_between_two_transactions(self):
        swap = self.prepare()

        writes = self.points(self.apply, swap)

        self.assertEqual(['swap.apply', 'swap.commit'], writes)
        [body] = self.posts
        expected = {each.uuid for each in self.old_holds + swap.successors}
        self.assertEqual(expected, body)
        self.assertEqual(self.new, self.providers())
        self.assert_at_rest()

    def test_planner_without_the_lease_prepares_nothing(self):
        self.take_over(self.uuid)

        self.assertRaises(exception.GroupBusy, self.prepare)

        self.assertEqual(['HELD', 'HELD'], self.hold_statuses(self.uuid))

    def test_planner_without_the_lease_commits_nothing(self):
        swap = self.prepare()
        self.call_at('after swap.apply', lambda: self.take_over(self.uuid))

        self.assertRaises(exception.GroupBusy, self.apply, swap)

        self.assertEqual(self.new, self.providers())

    def test_unsent_swap_is_compensated(self):
        self.kill_at('before swap.apply', self.apply, self.prepare())

        self.take_over(self.uuid)

        self.assertEqual(self.old, self.providers())

    def test_late_request_of_a_compensated_swap_is_refused(self):
        swap = self.prepare()
        self.call_at('before swap.apply', lambda: self.take_over(self.uuid))

        self.assertRaises(exception.GroupBusy, self.apply, swap)

        self.assertEqual(self.old, self.providers())
        self.assertEqual(
            (2, 2), (self.used(self.first), self.used(self.second))
        )

    def test_applied_swap_is_committed_without_a_request(self):
        self.kill_at('after swap.apply', self.apply, self.prepare())
        self.posts.clear()

        self.take_over(self.uuid)

        self.assertEqual([], self.posts)
        self.assertEqual(self.new, self.providers())

    def test_swap_without_an_answer_is_committed_by_what_placement_shows(self):
        swap = self.prepare()
        self.deployment.lose_next_answer()

        self.assertTrue(self.apply(swap))

        self.assertEqual(self.new, self.providers())

    def test_refused_swap_is_compensated(self):
        swap = self.prepare()
        self.refuse_next_change()

        self.assertFalse(self.apply(swap))

        self.assertEqual(self.old, self.providers())

    def test_unknown_result_leaves_the_swap_prepared(self):
        swap = self.prepare()
        self.silence()

        self.assertRaises(exception.PlacementUnavailable, self.apply, swap)

        self.assertEqual(
            ['EXCHANGING'] * 2 + ['WRITING'] * 2,
            self.hold_statuses(self.uuid),
        )

    def test_error_that_is_no_refusal_leaves_the_swap_prepared(self):
        """A proxy, or other writers, say nothing about the capacity."""
        swap = self.prepare()
        for error in base.NO_REFUSALS:
            self.fail_changes(error)

            self.assertRaises(exception.PlacementUnavailable, self.apply, swap)

            self.assertEqual(
                ['EXCHANGING'] * 2 + ['WRITING'] * 2,
                self.hold_statuses(self.uuid),
                error,
            )
        self.before_request = None
        self.take_over(self.uuid)

        self.assertEqual(self.old, self.providers())

    def test_request_that_lands_between_the_reads_is_seen(self):
        swap = self.prepare()

        def land(_label, about):
            if about == f'/allocations/{swap.successors[-1].uuid}':
                self.before_request = None
                self.deployment.placement_client().replace(
                    *(self.context, [old.uuid for old in swap.old_holds]),
                    swap.successors,
                )

        self.before_request = land
        self.take_over(self.uuid)

        self.assertEqual(self.new, self.providers())
        self.assertEqual(1, len(self.posts))

    def test_lost_hold_fails_its_member_only(self):
        self.prepare()
        self.deployment.delete_allocations(self.old_holds[1].uuid)
        self.deployment.fill(self.second)

        self.take_over(self.uuid)

        self.assertEqual(
            {'m-0': 'HELD', 'm-1': 'FAILED'}, self.statuses(self.uuid)
        )
        self.assertEqual({'m-0': self.first}, self.providers())
        kept, lost = self.starts(self.uuid)
        self.assertIsNotNone(kept)
        self.assertIsNone(lost)

    def test_successor_beyond_capacity_ends(self):
        """The host shrinks after Placement has accepted the swap."""
        swap = self.prepare()
        self.call_at(
            'after swap.apply',
            lambda: self.deployment.resize_provider(self.second, 0),
        )

        self.assertTrue(self.apply(swap))

        self.assertEqual(
            {'m-0': 'FAILED', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )

    def test_rows_of_a_swap_that_was_not_prepared_are_released(self):
        VRTHold.create_all(self.context, [self.old_holds[0].duplicate()])

        self.take_over(self.uuid)

        self.assertEqual(self.old, self.providers())
        self.assertEqual(
            ['HELD', 'HELD', 'RELEASING'], self.hold_statuses(self.uuid)
        )

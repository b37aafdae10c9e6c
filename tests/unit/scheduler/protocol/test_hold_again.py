# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/hold_again.py``."""

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.scheduler.protocol import hold_again
from tests.unit.scheduler import base


class TestHoldAgain(base.ProtocolTestCase):
    """A group's only hold, whose allocation Placement does not show."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=1)
        self.remove()

    def remove(self):
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.deployment.delete_allocations(self.hold.uuid)
        self.lease = self.acquire_lease(self.uuid)
        self.posts.clear()

    def hold_again(self, check=lambda: None):
        return hold_again.hold_again(
            *(self.context, self.deployment.placement_client()),
            *(self.lease, self.hold, check),
        )

    def assert_held(self):
        """Expect one successor of the hold, and the capacity once."""
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        [successor] = [
            each
            for each in self.holds(self.uuid, states.Hold.HELD)
            if not each.is_placeholder
        ]
        self.assertNotEqual(self.hold.uuid, successor.uuid)
        self.assertEqual(
            successor.allocations,
            self.deployment.allocations()[successor.uuid],
        )
        self.assert_one_owner()

    def test_successor_is_filled_between_two_transactions(self):
        writes = self.points(self.hold_again)

        self.assertEqual(
            ['hold_again.prepare', 'swap.apply', 'swap.commit'], writes
        )
        self.assert_held()
        self.assertEqual(2, self.used(self.provider))

    def test_prepared_successor_is_finished_by_the_next_owner(self):
        for point in ('hold_again.prepare', 'swap.apply'):
            self.kill_at(f'after {point}', self.hold_again)

            self.take_over(self.uuid)

            self.assert_held()
            self.remove()

    def test_late_refill_of_the_old_hold_leaves_no_swap_unfinished(self):
        """The host has room for it beside the successor."""
        self.uuid, self.provider = self.held(slots=2)
        self.remove()
        self.kill_at('after hold_again.prepare', self.hold_again)
        self.kill_at('after swap.compensate', self.take_over, self.uuid)
        self.deployment.fill(self.provider, consumer=self.hold.uuid)

        self.take_over(self.uuid)
        self.deployment.reap()

        self.assert_held()
        self.assertEqual(2, self.used(self.provider))

    def test_amounts_without_a_record_are_replaced(self):
        """They would be in the successor's way."""
        self.deployment.fill(self.provider, consumer=self.hold.uuid)
        self.placement.consumers[self.hold.uuid].generation = None

        self.assertTrue(self.hold_again())

        self.assert_held()
        self.assertEqual(2, self.used(self.provider))

    def test_changed_allocation_is_replaced_by_the_same_request(self):
        """It was changed once, and so it has the second generation."""
        self.deployment.fill(self.provider, consumer=self.hold.uuid)
        self.placement.consumers[self.hold.uuid].generation = 2
        self.posts.clear()

        self.assertTrue(self.hold_again())

        self.assertEqual(1, len(self.posts))
        self.assert_held()

    def test_taken_capacity_fails_the_member(self):
        self.deployment.fill(self.provider)

        self.assertFalse(self.hold_again())

        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_failed_check_writes_nothing(self):
        def refuse():
            raise exception.HoldFailed(reason='a test')

        self.assertRaises(exception.HoldFailed, self.hold_again, refuse)

        self.assertEqual(['HELD'], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_concurrently_ended_hold_gets_no_successor(self):
        self.deployment.request_release(self.uuid)

        self.assertRaises(exception.GenerationConflict, self.hold_again)

        self.assertEqual(['RELEASING'], self.hold_statuses(self.uuid))

    def test_planner_without_the_lease_writes_nothing(self):
        self.take_over(self.uuid)

        self.assertRaises(exception.GroupBusy, self.hold_again)

        self.assertEqual(['HELD'], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_successor_beyond_capacity_is_released(self):
        """The host shrinks after Placement has accepted the successor."""
        self.call_at(
            'after swap.apply',
            lambda: self.deployment.resize_provider(self.provider, 0),
        )

        self.assertFalse(self.hold_again())

        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))

    def test_placeholders_make_room_for_the_successor(self):
        """A foreign consumer has taken the capacity of the hold."""
        self.uuid, provider = self.held_exclusive(slots=3)
        self.remove()
        self.deployment.fill(provider)

        self.assertTrue(self.hold_again())

        self.assertEqual(6, self.used(provider))
        self.assert_held()

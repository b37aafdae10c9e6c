# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/take_back.py``."""

from nova_groupext import exception
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import take_back
from tests.unit.scheduler import base


class TestTakeBack(base.ProtocolTestCase):
    """A host that is full with a server that Nova will not build."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider, self.server = self.redeemed(
            servers.ServerOutcome.UNSCHEDULED
        )
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.lease = self.acquire_lease(self.uuid)

    def take_back(self):
        return take_back.take_back(
            *(self.context, self.deployment.placement_client()),
            *(self.lease, self.hold),
        )

    def assert_held(self):
        """Expect the member's capacity with a successor of its hold."""
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.assertNotEqual(self.hold.uuid, hold.uuid)
        self.assertEqual([hold.uuid], [*self.deployment.allocations()])
        self.assert_one_owner()

    def test_take_back_is_one_request_between_two_transactions(self):
        self.assertEqual(
            ['take_back.apply', 'swap.commit'], self.points(self.take_back)
        )

        [body] = self.posts
        self.assertIn(self.server, body)
        self.assert_held()

    def test_unsent_request_is_sent_by_the_next_owner(self):
        self.kill_at('before take_back.apply', self.take_back)
        self.assertEqual(
            ['EXCHANGING', 'WRITING'], self.hold_statuses(self.uuid)
        )

        self.take_over(self.uuid)

        self.assert_held()

    def test_applied_request_is_committed_by_the_next_owner(self):
        self.kill_at('after take_back.apply', self.take_back)
        self.posts.clear()

        self.take_over(self.uuid)

        self.assertEqual([], self.posts)
        self.assert_held()

    def test_server_without_an_allocation_needs_only_free_capacity(self):
        self.deployment.delete_allocations(self.server)

        self.assertTrue(self.take_back())

        self.assert_held()

    def test_taken_capacity_ends_the_hold(self):
        """The follow step ends its member, whose server owns nothing."""
        self.deployment.delete_allocations(self.server)
        self.deployment.fill(self.provider)

        self.assertFalse(self.take_back())

        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(self.uuid))
        self.assertEqual(
            ['RELEASING', 'RELEASING'], self.hold_statuses(self.uuid)
        )
        self.assertEqual(2, self.used(self.provider))

    def test_refused_request_is_repeated(self):
        self.refuse_next_change()

        self.assertTrue(self.take_back())

        self.assert_held()

    def test_error_that_is_no_refusal_leaves_the_swap_prepared(self):
        self.kill_at('before take_back.apply', self.take_back)
        for error in base.NO_REFUSALS:
            self.fail_changes(error)

            self.assertRaises(
                exception.PlacementUnavailable, self.take_over, self.uuid
            )

            self.assertEqual(
                ['EXCHANGING', 'WRITING'], self.hold_statuses(self.uuid), error
            )
        self.before_request = None
        self.take_over(self.uuid)

        self.assert_held()

    def test_planner_without_the_lease_changes_nothing(self):
        self.take_over(self.uuid)

        self.assertRaises(exception.GroupBusy, self.take_back)

        self.assertEqual(['REDEEMED'], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_second_take_back_of_a_hold_is_refused(self):
        self.take_back()
        self.posts.clear()

        self.assertFalse(self.take_back())

        self.assertEqual([], self.posts)
        self.assert_held()

    def test_successor_of_a_server_is_watched(self):
        """A slow request may fill the server, or the old hold, later."""
        self.take_back()

        watched = [each.watched_at for each in self.holds(self.uuid)]
        self.assertNotIn(None, watched)

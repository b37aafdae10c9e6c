# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/maintain.py``."""

import fixtures

from nova_groupext.objects import states
from nova_groupext.scheduler.protocol import maintain
from tests.protocol import fake_placement
from tests.unit.scheduler import base


class TestMaintain(base.ProtocolTestCase):
    """A member and a placeholder on an exclusive host of two slots."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held_exclusive(slots=2)
        self.assertEqual(4, self.used(self.provider))
        self.posts.clear()

    def maintain(self, logged=None):
        group = self.deployment.group(self.uuid)
        lease = self.acquire_lease(self.uuid)
        is_complete = maintain.maintain(
            *(self.context, self.deployment.placement_client()),
            *(lease, group, logged),
        )
        lease.release(self.context)
        return is_complete

    def placeholders(self):
        return [
            hold
            for hold in self.holds(self.uuid, states.Hold.HELD)
            if hold.is_placeholder
        ]

    def remove_placeholder(self):
        [placeholder] = self.placeholders()
        self.deployment.delete_allocations(placeholder.uuid)
        self.posts.clear()

    def assert_full(self):
        """Expect that rows and Placement agree, and no capacity is free."""
        self.assertEqual([], self.holds(self.uuid, *states.HOLD_OPEN))
        held = {each.uuid for each in self.holds(self.uuid, states.Hold.HELD)}
        self.assertEqual(held, {*self.deployment.allocations()})
        self.assertEqual(4, self.used(self.provider))

    def test_full_host_is_not_changed(self):
        self.assertEqual([], self.points(self.maintain))

        self.assertEqual([], self.posts)

    def test_added_capacity_is_filled(self):
        self.deployment.resize_provider(self.provider, 3)

        writes = self.points(self.maintain)

        self.assertEqual(
            ['placeholder.insert', 'hold.post', 'placeholder.commit'], writes
        )
        self.assertEqual(6, self.used(self.provider))

    def test_releasing_hold_is_replaced_by_one_request(self):
        """No foreign consumer can take the capacity in between."""
        self.uuid, self.provider = self.held_exclusive(slots=2, members=2)
        self.deployment.request_release(self.uuid, 'm-0')
        [released] = self.holds(self.uuid, states.Hold.RELEASING)
        self.posts.clear()

        self.maintain()

        [placeholder] = self.placeholders()
        self.assertEqual([{released.uuid, placeholder.uuid}], self.posts)
        self.assertEqual(4, self.used(self.provider))

    def test_host_without_members_is_released(self):
        self.deployment.request_release(self.uuid, 'm-0')

        self.maintain()

        self.assertEqual(0, self.used(self.provider))
        self.assertEqual({'RELEASED'}, {*self.hold_statuses(self.uuid)})

    def test_capacity_of_a_missing_hold_is_not_filled(self):
        self.deployment.delete_allocations(
            self.deployment.hold(self.uuid, 'm-0').uuid
        )

        self.maintain()

        self.assertEqual(2, self.used(self.provider))

    def test_missing_placeholder_is_replaced(self):
        self.remove_placeholder()

        self.maintain()

        self.assert_full()

    def test_placeholder_yields_to_an_overcommitting_consumer(self):
        self.deployment.resize_provider(self.provider, 1)

        self.maintain()

        self.assertEqual(2, self.used(self.provider))
        self.assertEqual([], self.placeholders())

    def test_placeholder_beyond_capacity_is_not_committed(self):
        """The host shrinks after Placement has accepted the placeholder."""
        self.remove_placeholder()
        self.call_at(
            'after hold.post',
            lambda: self.deployment.resize_provider(self.provider, 1),
        )

        self.maintain()

        self.assertEqual([], self.placeholders())
        self.assertEqual(2, self.used(self.provider))

    def test_refused_request_is_repeated(self):
        self.deployment.resize_provider(self.provider, 3)
        self.refuse_next_change()

        self.maintain()

        self.assertEqual(6, self.used(self.provider))
        self.assertEqual(2, len(self.placeholders()))

    def test_releasing_holds_are_emptied_although_filling_is_refused(self):
        self.uuid, self.provider = self.held_exclusive(slots=2, members=2)
        self.deployment.request_release(self.uuid, 'm-0')
        [released] = self.holds(self.uuid, states.Hold.RELEASING)

        def refuse(label, about):
            if label == 'POST' and {*about} != {released.uuid}:
                raise fake_placement.Conflict('consumer: a test')

        self.before_request = refuse
        self.maintain()

        self.assertEqual(2, self.used(self.provider))
        self.assertEqual([], self.holds(self.uuid, states.Hold.RELEASING))

    def test_unfinished_placeholder_is_replaced_after_a_crash(self):
        for point in ('placeholder.insert', 'hold.post'):
            self.remove_placeholder()
            self.kill_at(f'after {point}', self.maintain)

            self.take_over(self.uuid)
            self.maintain()

            self.assert_full()

    def test_placeholder_without_an_answer_is_watched(self):
        """A slow request may fill it after it was released."""
        self.deployment.resize_provider(self.provider, 3)
        self.deployment.lose_next_answer()

        self.maintain()

        [abandoned] = self.holds(self.uuid, states.Hold.RELEASING)
        self.assertIsNotNone(abandoned.watched_at)

    def test_planner_without_the_lease_writes_nothing(self):
        self.remove_placeholder()
        group, lease = (
            self.deployment.group(self.uuid),
            self.acquire_lease(self.uuid),
        )
        before = self.hold_statuses(self.uuid)
        self.take_over(self.uuid)
        self.posts.clear()

        maintain.maintain(
            *(self.context, self.deployment.placement_client()),
            *(lease, group),
        )

        self.assertEqual(before, self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_foreign_consumer_is_kept_and_logged_once(self):
        self.remove_placeholder()
        consumer = self.deployment.fill(self.provider)
        logged, log = set(), self.useFixture(fixtures.FakeLogger())

        for _round in range(2):
            self.maintain(logged)

        self.assertEqual({(self.uuid, self.provider, consumer)}, logged)
        self.assertEqual(1, log.output.count(consumer))
        self.assertEqual(4, self.used(self.provider))

    def test_missing_server_is_reported(self):
        server = self.deployment.redeem(self.uuid, 'm-0')
        self.assertTrue(self.maintain())

        self.deployment.delete_allocations(server)

        self.assertFalse(self.maintain())

    def test_silent_placement_postpones_the_host(self):
        self.deployment.request_release(self.uuid, 'm-0')
        self.silence()

        self.maintain()

        self.assertEqual(4, self.used(self.provider))
        self.assertNotEqual([], self.holds(self.uuid, states.Hold.RELEASING))

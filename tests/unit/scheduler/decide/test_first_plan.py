# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/first_plan.py``."""

import fixtures

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.db import api as db
from nova_groupext.db import models
from tests.unit.scheduler import base


class TestFirstPlan(base.ProtocolTestCase):
    """A group of three members, whose holds need two requests."""

    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(3)
        self.uuid = self.deployment.describe(3 * [self.provider])

    def plan(self):
        self.deployment.plan(self.uuid)
        return self.deployment.group(self.uuid)

    def assert_held(self):
        self.assertEqual('HELD', self.deployment.group(self.uuid).status)
        self.assertEqual(6, self.used(self.provider))
        self.assert_at_rest()

    def assert_nothing_held(self):
        """Expect that Placement and our rows are as before the plan."""
        self.assertEqual({'TENTATIVE'}, {*self.statuses(self.uuid).values()})
        self.assertLessEqual({*self.hold_statuses(self.uuid)}, {'RELEASED'})
        self.assertEqual(set(), self.own_consumers())

    def own_consumers(self):
        return {*self.deployment.allocations()} & {
            hold.uuid for hold in self.holds(self.uuid)
        }

    def test_holds_are_filled_before_they_are_in_force(self):
        self.assertEqual(
            ['hold.post', 'hold.post', 'hold.commit'], self.points(self.plan)
        )

        self.assert_held()

    def test_crash_is_finished_by_the_next_planner(self):
        for point in ('before hold.post', 'after hold.post'):
            self.kill_at(point, self.plan)
            self.sleep(1000)
        self.kill_at('before hold.commit', self.plan)
        self.assertEqual('PLANNING', self.deployment.group(self.uuid).status)
        self.sleep(1000)

        self.plan()
        self.deployment.reap()

        self.assert_held()

    def test_taken_capacity_leaves_nothing_held(self):
        self.call_at(
            'after hold.post', lambda: self.deployment.fill(self.provider)
        )

        self.assertEqual('UNDECIDED', self.plan().status)

        self.assert_nothing_held()
        self.assertEqual(2, self.used(self.provider))

    def test_capacity_beyond_the_quota_is_not_held(self):
        """The quota was enough before the plan, but not any more."""
        answers = iter((None, exception.LimitExceeded(reason='too many')))

        def check(*_args, **_kwargs):
            if error := next(answers):
                raise error

        self.useFixture(fixtures.MockPatchObject(quota, 'check', check))

        group = self.plan()

        self.assertEqual(('ERROR', 'too many'), (group.status, group.fault))
        self.assertEqual([], self.hold_statuses(self.uuid))
        self.assertEqual([], self.posts)

    def test_quota_is_checked_although_nothing_is_held(self):
        """An answer would tell how much capacity is free."""
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == self.uuid,
            hold_when_planned=False,
        )
        self.assertEqual('PLANNED', self.plan().status)
        group = self.deployment.group(self.uuid)
        group.change(self.context, 'PLANNING')

        def check(*_args, **_kwargs):
            raise exception.LimitExceeded(reason='too many')

        self.useFixture(fixtures.MockPatchObject(quota, 'check', check))

        self.assertEqual('ERROR', self.plan().status)

    def test_group_that_is_deleted_during_the_hold_holds_nothing(self):
        self.call_at(
            'after hold.post',
            lambda: self.deployment.mark_deleted(self.uuid),
        )

        self.deployment.plan(self.uuid)

        self.assertEqual({}, self.deployment.allocations())
        self.assertEqual({}, self.deployment.row_counts())

    def test_planner_that_loses_the_lease_puts_nothing_in_force(self):
        self.call_at('before hold.commit', lambda: self.take_over(self.uuid))

        self.serve(self.uuid)

        self.assertEqual('PLANNING', self.deployment.group(self.uuid).status)
        self.assert_nothing_held()

    def test_placeholders_are_held_with_the_members(self):
        uuid = self.deployment.describe([self.provider], [base.EXCLUSIVE])

        self.deployment.plan(uuid)

        self.assertEqual(['HELD', 'HELD'], self.hold_statuses(uuid))
        self.assertEqual(6, self.used(self.provider))

    def test_expiry_counts_from_the_hold(self):
        before = db.time(self.context)

        group = self.plan()

        lifetime = (group.expires_at - before).total_seconds()
        self.assertAlmostEqual(group.expires_in, lifetime, delta=5)

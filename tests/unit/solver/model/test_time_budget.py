# SPDX-License-Identifier: Apache-2.0
"""Time budgets and their slices."""

import time

import fixtures
from oslotest import base

from nova_groupext.solver.model import time_budget


class TestTimeBudget(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.useFixture(
            fixtures.MockPatchObject(time, 'monotonic', lambda: self.now)
        )

    def test_budget_counts_down(self):
        budget = time_budget.TimeBudget(10)
        self.assertEqual((0, 10), (budget.elapsed(), budget.remaining()))
        self.now += 4
        self.assertEqual((4, 6), (budget.elapsed(), budget.remaining()))

    def test_expired_budget_has_nothing_left(self):
        budget = time_budget.TimeBudget(10)
        self.now += 12
        self.assertEqual((12, 0), (budget.elapsed(), budget.remaining()))

    def test_slice_is_no_longer_than_its_budget(self):
        budget = time_budget.TimeBudget(10)
        self.now += 4
        self.assertEqual(5, budget.slice(5).remaining())
        self.assertEqual(6, budget.slice(50).remaining())
        self.now += 7
        self.assertEqual(0, budget.slice(5).remaining())

    def test_budget_is_cut_short_once_its_end_was_seen(self):
        budget = time_budget.TimeBudget(10)
        self.now += 9
        budget.remaining()
        self.assertFalse(budget.is_cut_short)
        self.now += 1
        budget.remaining()
        self.assertTrue(budget.is_cut_short)

    def test_expired_slice_cuts_its_budget_short(self):
        budget = time_budget.TimeBudget(10)
        part = budget.slice(5).slice(1)
        other = budget.slice(5)
        self.now += 2
        part.remaining()
        self.assertTrue(budget.is_cut_short)
        self.assertFalse(other.is_cut_short)
        self.assertEqual(8, budget.remaining())

    def test_slice_can_be_expired_early(self):
        budget = time_budget.TimeBudget(10)
        budget.slice(5).expire()
        self.assertTrue(budget.is_cut_short)

    def test_end_of_an_attempt_cuts_nothing_short(self):
        budget = time_budget.TimeBudget(10)
        part = budget.attempt(20)
        self.assertEqual(10, part.remaining())
        self.now += 10
        part.remaining()
        self.assertEqual(
            (True, False), (part.is_cut_short, budget.is_cut_short)
        )

    def test_slice_does_not_shorten_its_budget(self):
        budget = time_budget.TimeBudget(10)
        part = budget.slice(3)
        self.now += 2
        self.assertEqual((1, 8), (part.remaining(), budget.remaining()))
        self.assertEqual(2, part.elapsed())

    def test_check_of_an_expired_budget_raises(self):
        budget = time_budget.TimeBudget(10)
        budget.check()
        self.now += 10
        self.assertRaises(time_budget.OutOfTime, budget.check)
        self.assertTrue(budget.is_cut_short)


class TestWorkBudget(base.BaseTestCase):
    """Budgets of processor time, with a deadline."""

    def setUp(self):
        super().setUp()
        self.now, self.worked = 100.0, 7.0
        for name, clock in (
            ('monotonic', lambda: self.now),
            ('process_time', lambda: self.worked),
        ):
            self.useFixture(fixtures.MockPatchObject(time, name, clock))

    def pass_time(self, worked, waited=0):
        self.worked += worked
        self.now += worked + waited

    def test_only_processor_time_counts(self):
        budget = time_budget.WorkBudget(10)
        self.pass_time(4, waited=50)
        self.assertEqual((4, 6), (budget.elapsed(), budget.remaining()))

    def test_deadline_ends_budget_and_slices(self):
        budget = time_budget.WorkBudget(10, deadline=30)
        part = budget.slice(8)
        self.pass_time(1, waited=26)
        self.assertEqual((3, 3), (budget.remaining(), part.remaining()))
        self.pass_time(0, waited=3)
        self.assertEqual(0, part.remaining())
        self.assertTrue(budget.is_cut_short)

    def test_extra_budget_exceeds_the_time_and_the_deadline(self):
        budget = time_budget.WorkBudget(1, deadline=30)
        self.pass_time(2, waited=25)
        extra = budget.beyond(9)
        self.assertEqual(9, extra.remaining())
        self.pass_time(0, waited=8)
        self.assertEqual(1, extra.remaining())

    def test_step_may_wait_longer_on_a_busy_machine(self):
        budget = time_budget.WorkBudget(10, deadline=90)
        self.pass_time(1)
        self.assertEqual(13.5, budget.wall_seconds())
        self.pass_time(1, waited=6)
        self.assertEqual(48, budget.wall_seconds())
        self.assertEqual(12, budget.slice(2).wall_seconds())

    def test_step_waits_until_the_deadline_at_most(self):
        budget = time_budget.WorkBudget(10, deadline=12)
        self.pass_time(1, waited=3)
        self.assertEqual(8, budget.wall_seconds())

    def test_new_budget_takes_the_machine_for_idle(self):
        self.assertEqual(15, time_budget.WorkBudget(10).wall_seconds())

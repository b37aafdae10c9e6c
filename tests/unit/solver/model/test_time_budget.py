# SPDX-License-Identifier: Apache-2.0
"""Does a budget count down, and no further than to 0?"""

import time

import fixtures
from oslotest import base

from nova_groupext.solver.model import time_budget


class TestClock(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.useFixture(
            fixtures.MockPatchObject(time, 'monotonic', lambda: self.now)
        )

    def test_it_counts_down(self):
        budget = time_budget.TimeBudget(10)
        self.assertEqual((0, 10), (budget.spent(), budget.left()))
        self.now += 4
        self.assertEqual((4, 6), (budget.spent(), budget.left()))

    def test_nothing_is_left_after_the_end(self):
        budget = time_budget.TimeBudget(10)
        self.now += 12
        self.assertEqual((12, 0), (budget.spent(), budget.left()))

    def test_a_slice_is_no_longer_than_what_is_left(self):
        budget = time_budget.TimeBudget(10)
        self.now += 4
        self.assertEqual(5, budget.slice(5).left())
        self.assertEqual(6, budget.slice(50).left())
        self.now += 7
        self.assertEqual(0, budget.slice(5).left())

    def test_it_has_struck_once_it_was_found_to_be_over(self):
        budget = time_budget.TimeBudget(10)
        self.now += 9
        budget.left()
        self.assertFalse(budget.is_cut_short)
        self.now += 1
        budget.left()
        self.assertTrue(budget.is_cut_short)

    def test_a_part_that_was_cut_short_cuts_the_whole_short(self):
        budget = time_budget.TimeBudget(10)
        part = budget.slice(5).slice(1)
        other = budget.slice(5)
        self.now += 2
        part.left()
        self.assertTrue(budget.is_cut_short)
        self.assertFalse(other.is_cut_short)
        self.assertEqual(8, budget.left())

    def test_whoever_was_cut_short_may_say_so(self):
        budget = time_budget.TimeBudget(10)
        budget.slice(5).expire()
        self.assertTrue(budget.is_cut_short)

    def test_a_slice_takes_nothing_away(self):
        budget = time_budget.TimeBudget(10)
        part = budget.slice(3)
        self.now += 2
        self.assertEqual((1, 8), (part.left(), budget.left()))
        self.assertEqual(2, part.spent())

    def test_checked_when_it_is_over_it_raises(self):
        budget = time_budget.TimeBudget(10)
        budget.check()
        self.now += 10
        self.assertRaises(time_budget.OutOfTime, budget.check)
        self.assertTrue(budget.is_cut_short)

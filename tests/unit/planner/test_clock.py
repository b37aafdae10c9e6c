# SPDX-License-Identifier: Apache-2.0
"""Does a clock count down, and no further than to 0?"""

import time

import fixtures
from oslotest import base

from nova_groupext.planner import clock as clocks


class TestClock(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.useFixture(
            fixtures.MockPatchObject(time, 'monotonic', lambda: self.now)
        )

    def test_it_counts_down(self):
        clock = clocks.Clock(10)
        self.assertEqual((0, 10), (clock.spent(), clock.left()))
        self.now += 4
        self.assertEqual((4, 6), (clock.spent(), clock.left()))

    def test_nothing_is_left_after_the_end(self):
        clock = clocks.Clock(10)
        self.now += 12
        self.assertEqual((12, 0), (clock.spent(), clock.left()))

    def test_a_slice_is_no_longer_than_what_is_left(self):
        clock = clocks.Clock(10)
        self.now += 4
        self.assertEqual(5, clock.slice(5).left())
        self.assertEqual(6, clock.slice(50).left())
        self.now += 7
        self.assertEqual(0, clock.slice(5).left())

    def test_it_has_struck_once_it_was_found_to_be_over(self):
        clock = clocks.Clock(10)
        self.now += 9
        clock.left()
        self.assertFalse(clock.has_struck)
        self.now += 1
        clock.left()
        self.assertTrue(clock.has_struck)

    def test_a_part_that_was_cut_short_cuts_the_whole_short(self):
        clock = clocks.Clock(10)
        part = clock.slice(5).slice(1)
        other = clock.slice(5)
        self.now += 2
        part.left()
        self.assertTrue(clock.has_struck)
        self.assertFalse(other.has_struck)
        self.assertEqual(8, clock.left())

    def test_whoever_was_cut_short_may_say_so(self):
        clock = clocks.Clock(10)
        clock.slice(5).strike()
        self.assertTrue(clock.has_struck)

    def test_a_slice_takes_nothing_away(self):
        clock = clocks.Clock(10)
        part = clock.slice(3)
        self.now += 2
        self.assertEqual((1, 8), (part.left(), clock.left()))
        self.assertEqual(2, part.spent())

    def test_checked_when_it_is_over_it_raises(self):
        clock = clocks.Clock(10)
        clock.check()
        self.now += 10
        self.assertRaises(clocks.OutOfTime, clock.check)
        self.assertTrue(clock.has_struck)

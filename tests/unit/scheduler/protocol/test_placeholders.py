# SPDX-License-Identifier: Apache-2.0
"""Is what is left of a resource split so that Placement takes all of it?"""

import itertools

from oslotest import base

from nova_groupext.scheduler.protocol import placeholders


def inventory(min_unit=1, max_unit=8, step_size=1):
    return {
        'min_unit': min_unit,
        'max_unit': max_unit,
        'step_size': step_size,
    }


class TestShares(base.BaseTestCase):
    def shares(self, rest, **units):
        return placeholders.split(inventory(**units), rest)

    def test_what_one_consumer_may_have_is_one_share(self):
        self.assertEqual([8], self.shares(8))

    def test_as_many_consumers_as_max_unit_demands(self):
        self.assertEqual([7, 7, 7], self.shares(21))

    def test_a_ratio_may_leave_a_part_of_a_unit(self):
        self.assertEqual([4], self.shares(4.5))

    def test_nobody_can_have_a_part_of_a_step(self):
        self.assertEqual([6, 3], self.shares(11, step_size=3))

    def test_the_last_share_is_not_too_small(self):
        self.assertEqual([5, 5], self.shares(10, min_unit=4))

    def test_what_is_too_little_for_anybody_is_left(self):
        self.assertEqual([], self.shares(3, min_unit=4))
        self.assertEqual([8], self.shares(10, min_unit=6))

    def test_where_nothing_is_left_there_is_no_share(self):
        self.assertEqual([], self.shares(0))
        self.assertEqual([], self.shares(-2))

    def test_an_inventory_that_nobody_can_use_has_no_share(self):
        self.assertEqual([], self.shares(9, max_unit=2, step_size=3))

    def test_every_share_is_allowed_and_nobody_can_have_the_remainder(self):
        sizes = range(1, 7)
        for least, most, step in itertools.product(sizes, sizes, sizes):
            allowed = {n for n in range(least, most + 1) if n % step == 0}
            for rest in range(30):
                shares = self.shares(
                    rest, min_unit=least, max_unit=most, step_size=step
                )

                case = (least, most, step, rest, shares)
                remainder = rest - sum(shares)
                self.assertLessEqual(set(shares), allowed, case)
                self.assertGreaterEqual(remainder, 0, case)
                self.assertFalse(
                    [amount for amount in allowed if amount <= remainder], case
                )

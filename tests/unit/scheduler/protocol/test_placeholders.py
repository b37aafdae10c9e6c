# SPDX-License-Identifier: Apache-2.0
"""Placeholders: free capacity, split into amounts for Placement."""

import itertools

from oslotest import base

from nova_groupext.scheduler.protocol import placeholders


def inventory(min_unit=1, max_unit=8, step_size=1):
    return {
        'min_unit': min_unit,
        'max_unit': max_unit,
        'step_size': step_size,
    }


class TestSplit(base.BaseTestCase):
    def amounts(self, free, **units):
        return placeholders.split(inventory(**units), free)

    def test_capacity_up_to_max_unit_is_not_split(self):
        self.assertEqual([8], self.amounts(8))

    def test_capacity_above_max_unit_is_split(self):
        self.assertEqual([7, 7, 7], self.amounts(21))

    def test_fraction_of_a_unit_is_left_free(self):
        self.assertEqual([4], self.amounts(4.5))

    def test_fraction_of_a_step_is_left_free(self):
        self.assertEqual([6, 3], self.amounts(11, step_size=3))

    def test_no_amount_is_below_min_unit(self):
        self.assertEqual([5, 5], self.amounts(10, min_unit=4))

    def test_capacity_below_min_unit_is_left_free(self):
        self.assertEqual([], self.amounts(3, min_unit=4))
        self.assertEqual([8], self.amounts(10, min_unit=6))

    def test_full_inventory_is_not_split(self):
        self.assertEqual([], self.amounts(0))
        self.assertEqual([], self.amounts(-2))

    def test_unusable_inventory_is_not_split(self):
        self.assertEqual([], self.amounts(9, max_unit=2, step_size=3))

    def test_amounts_are_allowed_and_their_remainder_is_unusable(self):
        sizes = range(1, 7)
        for min_unit, max_unit, step in itertools.product(sizes, sizes, sizes):
            allowed = {
                n for n in range(min_unit, max_unit + 1) if n % step == 0
            }
            for free in range(30):
                amounts = self.amounts(
                    free, min_unit=min_unit, max_unit=max_unit, step_size=step
                )

                case = (min_unit, max_unit, step, free, amounts)
                remainder = free - sum(amounts)
                self.assertLessEqual(set(amounts), allowed, case)
                self.assertGreaterEqual(remainder, 0, case)
                self.assertFalse(
                    [amount for amount in allowed if amount <= remainder], case
                )

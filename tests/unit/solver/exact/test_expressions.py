# SPDX-License-Identifier: Apache-2.0
"""Linear expressions, and comparisons of them."""

import math

from oslotest import base

from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact.expressions import Column


def row(comparison):
    """Return a comparison as ({column: coefficient}, lower, upper)."""
    terms = dict(zip(*comparison.terms(), strict=True))
    return terms, comparison.lower, comparison.upper


class TestExpressions(base.BaseTestCase):
    def test_comparison_is_a_row_without_a_constant(self):
        first, second = Column(1), Column(2)
        for comparison, expected in (
            (first * 2 + 3 <= second * 1, ({1: 2, 2: -1}, -math.inf, -3)),
            (first >= 4 - second, ({1: 1, 2: 1}, 4, math.inf)),
            (1 + first <= 3 * second - 1, ({1: 1, 2: -3}, -math.inf, -2)),
            ((first - 5).equals(second), ({1: 1, 2: -1}, 5, 5)),
        ):
            self.assertEqual(expected, row(comparison))

    def test_terms_of_the_same_column_are_one(self):
        column, other = Column(1), Column(2)

        doubled = expressions.total([column, other, column], 1)

        self.assertEqual(({1: 2, 2: 1}, 6, math.inf), row(doubled >= 7))

    def test_terms_that_cancel_stay_in_the_row(self):
        column = Column(1)

        self.assertEqual(({1: 0}, -math.inf, 2), row(column - column <= 2))

    def test_columns_are_not_changed_by_sums(self):
        column = Column(1)

        column + 3, expressions.total([column]), column * 2

        self.assertEqual(({1: 1}, 1, 1), row(column.equals(1)))

    def test_other_objects_are_no_expressions(self):
        self.assertRaises(TypeError, expressions.total, ['a'])

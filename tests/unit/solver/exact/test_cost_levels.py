# SPDX-License-Identifier: Apache-2.0
"""Are prices that lie far apart paid in the right order?"""

import fractions

from oslotest import base

from nova_groupext.solver.exact import cost_levels
from nova_groupext.solver.language import topology
from tests.unit.solver import builders


def _policy(at, members=2):
    sides = (tuple(f'm-{index}' for index in range(members)),)
    return topology.Policy(at, 'anti-affinity', 'host', sides, f'$.{at}')


class TestSplit(base.BaseTestCase):
    def split(self, *prices, members=2):
        by_policy = {
            _policy(str(index), members): fractions.Fraction(price)
            for index, price in enumerate(prices)
        }
        return [
            sorted(map(str, tier.values()))
            for tier in cost_levels.split(by_policy)
        ]

    def test_prices_in_range_stay_together(self):
        self.assertEqual([['1', '1000']], self.split('1', '1000'))

    def test_prices_far_apart_are_paid_the_dear_ones_first(self):
        self.assertEqual(
            [['10000000'], ['1/2', '1/5']], self.split('0.5', '1e7', '0.2')
        )

    def test_what_the_last_member_costs_counts(self):
        """The second one too many in a domain costs twice the price."""
        self.assertEqual([['1', '100000']], self.split('1', '1e5', members=1))
        self.assertEqual(
            [['100000'], ['1']], self.split('1', '1e5', members=2)
        )

    def test_equal_prices_are_paid_together(self):
        self.assertEqual(
            [['10000000'], ['1', '1', '1']], self.split('1', '1', '1', '1e7')
        )

    def test_cheap_ones_that_could_outweigh_a_dear_one_stay_with_it(self):
        self.assertEqual(
            [['1/1000', '1000']],
            self.split('0.001', '1000', members=1_000_000),
        )

    def test_the_unit_is_what_all_prices_are_multiples_of(self):
        self.assertEqual(
            fractions.Fraction(1, 20),
            cost_levels.unit(
                [fractions.Fraction('0.25'), fractions.Fraction('0.2')]
            ),
        )


class TestFarApart(base.BaseTestCase):
    def test_both_rules_and_the_order_of_hosts_are_kept_exactly(self):
        """Sharing api-0's host with db-0 costs a million times more."""
        found = builders.solve(
            [builders.host(name, cpu=2) for name in 'abc'],
            builders.group(
                [builders.policy('anti-affinity', 'host', False, weight=0.1)],
                [
                    builders.tie(
                        'db-0',
                        'api-0',
                        builders.policy(
                            'anti-affinity', 'host', False, weight=100_000
                        ),
                    )
                ],
                api=2,
                db=2,
            ),
        )

        self.assertEqual(
            {'api-0': 'a', 'api-1': 'a', 'db-0': 'b', 'db-1': 'c'},
            found.placement,
        )
        self.assertEqual((0.1, 0.1), (found.cost['soft'], found.cost['bound']))

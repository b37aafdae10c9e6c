# SPDX-License-Identifier: Apache-2.0
"""Levels of policies whose unit costs are far apart."""

import fractions

from oslotest import base

from nova_groupext.solver.exact import cost_levels
from nova_groupext.solver.policies import anti_affinity
from tests.unit.solver import builders


def _policy(at, members=2):
    sides = (tuple(f'm-{index}' for index in range(members)),)
    return anti_affinity.AntiAffinity(
        at=at, scope='host', sides=sides, where=f'$.{at}'
    )


class TestSplit(base.BaseTestCase):
    def split(self, *costs, members=2):
        by_policy = {
            _policy(str(index), members): fractions.Fraction(cost)
            for index, cost in enumerate(costs)
        }
        return [
            sorted(map(str, level.values()))
            for level in cost_levels.split(by_policy)
        ]

    def test_similar_costs_are_one_level(self):
        self.assertEqual([['1', '1000']], self.split('1', '1000'))

    def test_distant_costs_are_levels_with_the_highest_first(self):
        self.assertEqual(
            [['10000000'], ['1/2', '1/5']], self.split('0.5', '1e7', '0.2')
        )

    def test_cost_of_the_last_member_counts(self):
        """The second excess member of a domain costs twice as much."""
        self.assertEqual([['1', '100000']], self.split('1', '1e5', members=1))
        self.assertEqual(
            [['100000'], ['1']], self.split('1', '1e5', members=2)
        )

    def test_equal_costs_are_one_level(self):
        self.assertEqual(
            [['10000000'], ['1', '1', '1']], self.split('1', '1', '1', '1e7')
        )

    def test_costs_that_may_outweigh_a_higher_one_share_its_level(self):
        self.assertEqual(
            [['1/1000', '1000']],
            self.split('0.001', '1000', members=1_000_000),
        )

    def test_unit_is_the_common_divisor_of_all_costs(self):
        self.assertEqual(
            fractions.Fraction(1, 20),
            cost_levels.common_unit(
                [fractions.Fraction('0.25'), fractions.Fraction('0.2')]
            ),
        )


class TestFarApart(base.BaseTestCase):
    def test_both_policies_and_the_order_of_hosts_are_kept(self):
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

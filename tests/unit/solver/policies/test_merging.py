# SPDX-License-Identifier: Apache-2.0
"""Is a problem the same when policies that are alike are one?"""

import fractions

from oslotest import base

from nova_groupext.solver.policies import merging
from nova_groupext.solver.policies import violations
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders

policy, racks, tie = builders.policy, builders.racks, builders.tie


class TestMerged(base.BaseTestCase):
    def merged(self, *policies, relationships=()):
        tree = builders.group(policies, relationships, w=3, v=1)
        problem = builders.problem(racks(a=(8,), b=(8,)), tree)
        lean = merging.merged(problem)
        placements = [
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': other, 'v': 'b1'}
            for other in ('a1', 'b1')
        ]
        for placement in placements:
            self.assertEqual(
                violations.soft_cost(problem, placement),
                violations.soft_cost(lean, placement),
            )
        return lean.topology.policies

    def test_strict_ones_that_are_alike_are_one(self):
        strict = policy('affinity', 'rack')
        [one] = self.merged(strict, strict)
        self.assertTrue(one.strict)

    def test_soft_ones_that_are_alike_cost_what_all_cost(self):
        [one] = self.merged(
            *(
                policy('anti-affinity', 'rack', False, weight=weight)
                for weight in (0.1, 0.2, 3)
            )
        )
        self.assertEqual(fractions.Fraction('3.3'), violations.unit_cost(one))

    def test_bandwidths_add_up(self):
        near = policy('network-proximity', 'rack', False, weight=2)
        [one] = self.merged(
            relationships=[
                tie('w', 'v', near, bandwidth=3),
                {**tie('w', 'v', near, bandwidth=0.5), 'name': 'other'},
            ]
        )
        self.assertEqual(7, violations.unit_cost(one))

    def test_all_others_stay(self):
        for one, other in (
            (policy('affinity', 'rack'), policy('affinity', 'zone')),
            (policy('affinity', 'rack'), policy('anti-affinity', 'rack')),
            (policy('affinity', 'rack'), policy('affinity', 'rack', False)),
            (
                policy('spread', 'rack', max_skew=1),
                policy('spread', 'rack', max_skew=2),
            ),
        ):
            self.assertEqual(2, len(self.merged(one, other)), (one, other))

    def test_ends_of_a_relationship_are_not_one_side(self):
        near = policy('network-proximity', 'rack', False)
        self.assertEqual(
            2, len(self.merged(near, relationships=[tie('w', 'v', near)]))
        )

    def test_each_one_is_told_of_that_is_not_kept(self):
        soft = [
            policy('anti-affinity', 'rack', False, weight=w) for w in (1, 2)
        ]
        tree = builders.group(soft, w=3)
        found = stages.solve(builders.problem(racks(a=(8,)), tree))
        costs = [each['cost'] for each in found.violations]
        self.assertEqual([3, 6], sorted(costs))
        self.assertEqual((9, 9), (found.cost['soft'], found.cost['bound']))

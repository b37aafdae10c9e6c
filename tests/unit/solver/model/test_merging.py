# SPDX-License-Identifier: Apache-2.0
"""Merging of equal policies, which leaves a problem the same."""

import fractions

from oslotest import base

from nova_groupext.solver.model import merging
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders

policy, racks, tie = builders.policy, builders.racks, builders.tie


class TestMerged(base.BaseTestCase):
    def merged(self, *policies, relationships=()):
        tree = builders.group(policies, relationships, w=3, v=1)
        problem = builders.problem(racks(a=(8,), b=(8,)), tree)
        merged = merging.merge_equivalent(problem)
        placements = [
            {'w-0': 'a1', 'w-1': 'a1', 'w-2': other, 'v': 'b1'}
            for other in ('a1', 'b1')
        ]
        for placement in placements:
            self.assertEqual(
                violations.soft_cost(problem, placement),
                violations.soft_cost(merged, placement),
            )
        return merged.topology.policies

    def test_equal_strict_policies_are_merged(self):
        strict = policy('affinity', 'rack')
        [one] = self.merged(strict, strict)
        self.assertTrue(one.strict)

    def test_merged_soft_policies_cost_their_sum(self):
        [one] = self.merged(
            *(
                policy('anti-affinity', 'rack', False, weight=weight)
                for weight in (0.1, 0.2, 3)
            )
        )
        self.assertEqual(fractions.Fraction('3.3'), one.unit_cost)

    def test_bandwidths_of_merged_policies_add_up(self):
        near = policy('network-proximity', 'rack', False, weight=2)
        [one] = self.merged(
            relationships=[
                tie('w', 'v', near, bandwidth=3),
                {**tie('w', 'v', near, bandwidth=0.5), 'name': 'other'},
            ]
        )
        self.assertEqual(7, one.unit_cost)

    def test_different_policies_are_not_merged(self):
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

    def test_policies_of_a_group_and_a_relationship_are_not_merged(self):
        near = policy('network-proximity', 'rack', False)
        self.assertEqual(
            2, len(self.merged(near, relationships=[tie('w', 'v', near)]))
        )

    def test_each_violated_policy_is_reported_on_its_own(self):
        soft = [
            policy('anti-affinity', 'rack', False, weight=w) for w in (1, 2)
        ]
        tree = builders.group(soft, w=3)
        found = stages.solve(builders.problem(racks(a=(8,)), tree))
        costs = [each['cost'] for each in found.violations]
        self.assertEqual([3, 6], sorted(costs))
        self.assertEqual((9, 9), (found.cost['soft'], found.cost['bound']))

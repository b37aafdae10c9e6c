# SPDX-License-Identifier: Apache-2.0
"""Suspect subproblems: likely causes of infeasibility."""

import itertools

from oslotest import base

from nova_groupext.solver.model import assumptions
from nova_groupext.solver.proofs import suspects
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestSuspects(base.BaseTestCase):
    def test_largest_share_of_capacity_comes_first(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                groups={
                    'g': group([policy('affinity', 'rack')], v=1),
                    'h': group([policy('spread', 'rack')], w=1, x=1),
                }
            ),
        )
        shares = {'g/v': 0.1, 'h/w': 0.9, 'h/x': 0.1}
        spread = assumptions.PolicyAssumption('h', 'spread', 'rack')
        affinity = assumptions.PolicyAssumption('g', 'affinity', 'rack')
        self.assertEqual(
            [
                {assumptions.MemberAssumption('h/w'), spread},
                {
                    assumptions.MemberAssumption('h/w'),
                    assumptions.MemberAssumption('g/v'),
                    spread,
                    affinity,
                },
            ],
            list(suspects.nested_suspects(problem, shares)),
        )

    def test_each_subproblem_contains_the_one_before(self):
        names = {f'm{number:02}': 1 for number in range(40)}
        problem = builders.problem(racks(a=(8,)), group(**names))
        found = list(
            suspects.nested_suspects(problem, dict.fromkeys(names, 0.5))
        )
        self.assertLess(len(found), 12)
        for less, more in itertools.pairwise(found):
            self.assertLess(less, more)
        self.assertLess(len(found[-1]), 40)


class TestConflictingPairs(base.BaseTestCase):
    def pairs(self, *policies, inner=(), **options):
        problem = builders.problem(
            racks(a=(8,)),
            group(policies, groups={'g': group(inner, w=2)}, **options),
        )
        return [
            {
                each.type
                for each in part
                if isinstance(each, assumptions.PolicyAssumption)
            }
            for part in suspects.conflicting_pairs(problem)
        ]

    def test_exclusive_policy_within_affinity_is_suspect(self):
        self.assertEqual(
            [{'affinity', 'exclusive'}],
            self.pairs(
                policy('affinity', 'rack'), inner=[policy('exclusive', 'rack')]
            ),
        )

    def test_affinity_within_spread_is_suspect(self):
        spread = policy('spread', 'rack')
        self.assertEqual(
            [{'affinity', 'spread'}],
            self.pairs(spread, inner=[policy('affinity', 'rack')], x=1),
        )
        self.assertEqual(
            [], self.pairs(policy('affinity', 'zone'), inner=[spread], x=1)
        )

    def test_survive_and_spread_of_different_scopes_are_suspect(self):
        safe = policy('survive', 'rack', min_members=1)
        self.assertEqual([], self.pairs(policy('spread', 'rack'), safe))
        self.assertEqual(
            [{'survive', 'spread'}], self.pairs(policy('spread', 'host'), safe)
        )

    def test_pair_that_bounds_decide_is_not_suspect(self):
        apart = policy('anti-affinity', 'host')
        self.assertEqual(
            [],
            self.pairs(apart, policy('affinity', 'zone'), inner=[apart], x=1),
        )

    def test_required_members_are_in_a_suspect(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                [policy('spread', 'rack'), policy('exclusive', 'rack')], w=1
            ),
        )
        [part] = suspects.conflicting_pairs(problem)
        self.assertIn(assumptions.MemberAssumption('w'), part)

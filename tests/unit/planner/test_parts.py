# SPDX-License-Identifier: Apache-2.0
"""Which parts of a problem are suspected to leave no plan."""

import itertools

from oslotest import base

from nova_groupext.planner import parts
from nova_groupext.planner import tags
from tests.unit.planner import builders
from tests.unit.planner.builders import group
from tests.unit.planner.builders import policy
from tests.unit.planner.builders import racks


class TestSuspects(base.BaseTestCase):
    def test_what_takes_most_comes_first_with_its_policies(self):
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
        spread = tags.Rule('h', 'spread', 'rack')
        affinity = tags.Rule('g', 'affinity', 'rack')
        self.assertEqual(
            [
                {tags.Members('h/w'), spread},
                {tags.Members('h/w'), tags.Members('g/v'), spread, affinity},
            ],
            list(parts.suspects(problem, shares)),
        )

    def test_each_has_the_one_before_in_it(self):
        names = {f'm{number:02}': 1 for number in range(40)}
        problem = builders.problem(racks(a=(8,)), group(**names))
        found = list(parts.suspects(problem, dict.fromkeys(names, 0.5)))
        self.assertLess(len(found), 12)
        for less, more in itertools.pairwise(found):
            self.assertLess(less, more)
        self.assertLess(len(found[-1]), 40)


class TestOdd(base.BaseTestCase):
    def pairs(self, *policies, inner=(), **options):
        problem = builders.problem(
            racks(a=(8,)),
            group(policies, groups={'g': group(inner, w=2)}, **options),
        )
        return [
            {each.type for each in part if isinstance(each, tags.Rule)}
            for part in parts.odd(problem)
        ]

    def test_what_has_to_be_alone(self):
        self.assertEqual(
            [{'affinity', 'exclusive'}],
            self.pairs(
                policy('affinity', 'rack'), inner=[policy('exclusive', 'rack')]
            ),
        )

    def test_what_is_together_within_what_is_spread(self):
        spread = policy('spread', 'rack')
        self.assertEqual(
            [{'affinity', 'spread'}],
            self.pairs(spread, inner=[policy('affinity', 'rack')], x=1),
        )
        self.assertEqual(
            [], self.pairs(policy('affinity', 'zone'), inner=[spread], x=1)
        )

    def test_two_that_are_spread_in_different_ways(self):
        safe = policy('survive', 'rack', min_members=1)
        self.assertEqual([], self.pairs(policy('spread', 'rack'), safe))
        self.assertEqual(
            [{'survive', 'spread'}], self.pairs(policy('spread', 'host'), safe)
        )

    def test_not_what_bounds_tell(self):
        apart = policy('anti-affinity', 'host')
        self.assertEqual(
            [],
            self.pairs(apart, policy('affinity', 'zone'), inner=[apart], x=1),
        )

    def test_the_members_that_have_to_come(self):
        problem = builders.problem(
            racks(a=(8,)),
            group(
                [policy('spread', 'rack'), policy('exclusive', 'rack')], w=1
            ),
        )
        [part] = parts.odd(problem)
        self.assertIn(tags.Members('w'), part)

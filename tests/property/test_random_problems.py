# SPDX-License-Identifier: Apache-2.0
"""The generator of the random problems of the property tests."""

import collections
import unittest

from tests.property import definitions
from tests.property import oracle
from tests.property import random_problems

CASES = 60


class ProblemsTest(unittest.TestCase):
    def test_same_seed_gives_the_same_problem(self):
        first = random_problems.seeded('pins', 7)
        self.assertEqual(first, random_problems.seeded('pins', 7))
        self.assertEqual(
            random_problems.planted(7), random_problems.planted(7)
        )

    def test_every_profile_has_refusals_and_costly_plans(self):
        for name in random_problems.PROFILES:
            answers = collections.Counter(
                _kind(random_problems.seeded(name, seed))
                for seed in range(CASES)
            )
            with self.subTest(name, answers=answers):
                self.assertGreater(answers['refused'], CASES // 5)
                self.assertGreater(answers['placed at a cost'], CASES // 30)
                self.assertLess(answers['refused'], CASES * 3 // 5)

    def test_some_plans_leave_members_out(self):
        kinds = [
            _kind(random_problems.seeded('capacity', n)) for n in range(CASES)
        ]
        self.assertGreater(kinds.count('left some out'), CASES // 20)

    def test_every_policy_type_is_drawn_on_groups_and_relationships(self):
        drawn = {
            (rule.policy['type'], rule.strict, len(rule.sides) > 1)
            for name in ('policies', 'relationships')
            for seed in range(CASES)
            for rule in definitions.rules(random_problems.seeded(name, seed))
        }
        self.assertEqual(len(definitions.MEETS) * 2 * 2, len(drawn))

    def test_proximity_among_more_than_two_parts_is_drawn(self):
        drawn = {
            rule.strict
            for name in random_problems.PROFILES
            for seed in range(CASES)
            for rule in definitions.rules(random_problems.seeded(name, seed))
            if rule.policy['type'] == 'network-proximity'
            and len(rule.sides) > 2
        }
        self.assertEqual({True, False}, drawn)

    def test_every_policy_type_is_drawn_with_members_of_other_groups(self):
        drawn = {
            rule.policy['type']
            for seed in range(CASES)
            for problem in [random_problems.seeded('outsiders', seed)]
            for rule in definitions.rules(problem)
            if any(path.startswith('/') for path in rule.covered)
        }
        self.assertEqual({*definitions.MEETS}, drawn)

    def test_planted_plan_is_feasible(self):
        for seed in range(CASES):
            problem, plan = random_problems.planted(seed)
            cloud = definitions.Cloud(problem)
            for rule in definitions.rules(problem):
                if rule.strict:
                    kept = definitions.meets(cloud, rule, plan)
                    self.assertTrue(kept, (seed, rule))


def _kind(problem: definitions.Problem) -> str:
    best = oracle.solve(problem)
    if best is None:
        return 'refused'
    if best.placed < len(definitions.members(problem)):
        return 'left some out'
    return 'placed at a cost' if best.soft else 'placed'

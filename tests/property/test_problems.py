# SPDX-License-Identifier: Apache-2.0
"""The generator draws what the other property tests rely on."""

import collections
import unittest

from tests.property import definitions
from tests.property import oracle
from tests.property import problems

CASES = 60


class ProblemsTest(unittest.TestCase):
    def test_seed_belongs_to_problem(self):
        profile = problems.PROFILES['pins']
        self.assertEqual(
            problems.seeded(7, profile), problems.seeded(7, profile)
        )
        self.assertEqual(problems.planted(7), problems.planted(7))

    def test_healthy_mix_of_answers(self):
        for name, profile in problems.PROFILES.items():
            answers = collections.Counter(
                _kind(problems.seeded(seed, profile)) for seed in range(CASES)
            )
            with self.subTest(name, answers=answers):
                self.assertGreater(answers['refused'], CASES // 5)
                self.assertGreater(answers['placed at a cost'], CASES // 30)
                self.assertGreater(answers['left some out'], 0)
                self.assertLess(answers['refused'], CASES * 3 // 5)

    def test_every_policy_in_every_place(self):
        drawn = {
            (rule.policy['type'], rule.strict, len(rule.sides))
            for name in ('policies', 'relationships')
            for seed in range(CASES)
            for rule in definitions.rules(
                problems.seeded(seed, problems.PROFILES[name])
            )
        }
        self.assertEqual(len(definitions.MEETS) * 2 * 2, len(drawn))

    def test_planted_plan_is_lawful(self):
        for seed in range(CASES):
            problem, plan = problems.planted(seed)
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

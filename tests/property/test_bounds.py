# SPDX-License-Identifier: Apache-2.0
"""Proofs of infeasibility by bounds, compared with the oracle."""

import json
import unittest

from tests.property import oracle
from tests.property import planner
from tests.property import random_problems

CASES_PER_PROFILE = 600 // len(random_problems.PROFILES)
# Others than those that the planner is compared on.
FIRST_SEED = 1_000_000

# Most of what is refused is as plain as that. A share of the cases would have
# too few refusals for a ratio, so all are run: they take seconds.
LEAST_PROVED = 0.8


class BoundsTest(unittest.TestCase):
    def test_proofs_are_right_and_cover_most_refusals(self):
        refused = proved = 0
        for name in random_problems.PROFILES:
            for seed in range(FIRST_SEED, FIRST_SEED + CASES_PER_PROFILE):
                problem = random_problems.seeded(name, seed)
                conflict = planner.bound(problem)
                if conflict is not None:
                    proved += 1
                    self.assertTrue(
                        oracle.excludes(problem, conflict),
                        f'seed {seed} of {name}\n{json.dumps(problem)}\n'
                        f'{json.dumps(conflict)}',
                    )
                refused += oracle.solve(problem) is None
        self.assertGreater(proved, refused * LEAST_PROVED)

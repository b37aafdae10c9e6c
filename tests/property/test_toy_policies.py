# SPDX-License-Identifier: Apache-2.0
"""Policy types of another package, compared with the oracle.

One has nothing but a meaning, so the integer program learns cuts; the other
has the violation of a domain, so it has rows.
"""

import json

from oslotest import base

from tests import shares
from tests.property import planner
from tests.property import random_problems
from tests.property import test_planner_oracle
from tests.property import test_stages
from tests.toys import fixture

CASES = 600


class TestToyPolicies(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixture.ToyPolicies())

    def _compare(self, name):
        for seed in shares.sample_seeds(CASES):
            problem = random_problems.seeded(name, seed)
            answer = planner.decide(problem)
            found = test_planner_oracle.disagreements(problem, answer)
            self.assertEqual(
                [], found, (seed, json.dumps(problem), json.dumps(answer))
            )

    def test_profile_toys_matches_the_oracle(self):
        self._compare('toys')

    def test_profile_toys_alone_matches_the_oracle(self):
        self._compare('toys_alone')

    def test_stages_for_large_problems_match_the_oracle(self):
        for seed in shares.sample_seeds(CASES // 4, first=1_000_000):
            for name in random_problems.TOY_PROFILES:
                problem = random_problems.seeded(name, seed)
                with test_stages.treated_as_large():
                    answer = planner.decide(problem)
                found = test_stages.disagreements(problem, answer)
                self.assertEqual(
                    [], found, (seed, json.dumps(problem), json.dumps(answer))
                )

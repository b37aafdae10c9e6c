# SPDX-License-Identifier: Apache-2.0
"""Capacity relaxations, compared with clouds of unlimited capacity."""

import random
import unittest

from tests import shares
from tests.property import planner
from tests.property import random_problems

CASES = 600

# Few members on many hosts, so that there is something to leave out.
PROFILE = random_problems.Profile(
    hosts=10, policies=4, strict=0.9, counts=(1, 2, 2), without_domain=0.1
)


def nest(problem: dict) -> None:
    """Put every rack in one zone."""
    for host in problem['hosts']:
        domains = host['domains']
        if domains.keys() == {'rack', 'zone'}:
            inner, outer = problem['levels'][1:]
            domains[outer] = f'{outer}-{domains[inner][-1] in "12"}'


class CapacityRelaxationTest(unittest.TestCase):
    def test_relaxation_has_a_plan_exactly_if_the_cloud_has_one(self):
        smaller = impossible = 0
        seeds = shares.sample_seeds(CASES)
        for seed in seeds:
            problem = random_problems.problem(random.Random(seed), PROFILE)
            if seed % 3:
                nest(problem)
            for spec in problem['classes'].values():
                spec.pop('alternatives', None)
                spec['request'] = {}
            hosts, has_plan = planner.relax_capacity(problem)
            smaller += hosts < len(problem['hosts'])
            impossible += not has_plan
            self.assertEqual(planner.has_plan(problem), has_plan, problem)
        self.assertGreater(smaller, len(seeds) // 20)
        self.assertGreater(impossible, len(seeds) // 20)

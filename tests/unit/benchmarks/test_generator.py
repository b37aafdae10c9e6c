# SPDX-License-Identifier: Apache-2.0
"""Generated problems of the planner's benchmark."""

import contextlib
import io
import json
import operator
import random

from oslotest import base

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import groups


def _is_scarce(asked):
    """Return whether only few hosts can take members of a class."""
    return 'hosts' in asked or clouds.GPU in asked['request']


class TestGenerator(base.BaseTestCase):
    def test_planted_plan_is_feasible(self):
        for family in groups.FAMILIES:
            for fill in (0.7, 0.8, 0.9, 0.95):
                raw, plan = generator.generate(100, 30, family, fill, 1)
                problem = problems.parse(raw)
                found = violations.find(problem, violations.Plan(plan, {}))
                self.assertEqual([], found, f'{family} {fill}')

    def test_elastic_group_asks_for_more_than_it_needs(self):
        raw, plan = generator.generate(100, 40, 'elastic', 0.5, 1)
        sets = problems.parse(raw).topology.member_sets
        self.assertGreater(sum(each.count for each in sets), len(plan))
        self.assertLess(sum(each.min_count for each in sets), len(plan))

    def test_exact_fit_leaves_nothing_free_beside_the_planted_plan(self):
        raw, plan = generator.generate(100, 40, 'exact', 0.5, 1)
        problem = problems.parse(raw)
        used = violations.usage(problem, violations.Plan(plan, {}), plan)
        for host in problem.hosts.values():
            free = {name: each for name, each in host.free.items() if each}
            self.assertEqual(used[host.id], free)
        totals = {clouds.SHAPES['medium']['VCPU']}
        cloud = clouds.build(random.Random(1), 100, with_one_model=True)
        self.assertEqual(totals, {each.total['VCPU'] for each in cloud.hosts})

    def test_planted_plan_has_all_members(self):
        for members in (1, 2, 7, 40):
            raw, plan = generator.generate(120, members, 'topology', 0.9, 3)
            topology = problems.parse(raw).topology
            self.assertEqual({m.path for m in topology.members}, plan.keys())
            self.assertEqual(members, len(plan))

    def test_the_same_seed_gives_the_same_file(self):
        for family in groups.FAMILIES:
            first, second, other = (
                json.dumps(generator.generate(100, 20, family, 0.9, seed))
                for seed in (5, 5, 6)
            )
            self.assertEqual(first, second)
            self.assertNotEqual(first, other)

    def test_every_group_has_a_soft_policy(self):
        for family in groups.FAMILIES:
            raw, _ = generator.generate(100, 20, family, 0.7, 2)
            policies = problems.parse(raw).topology.policies
            self.assertFalse(all(policy.strict for policy in policies))

    def test_cloud_is_filled_to_the_given_share(self):
        for share in (0.7, 0.95):
            rng = random.Random('cloud')
            cloud = clouds.build(rng, 200)
            clouds.fill(rng, cloud, share)
            size = [host.total['VCPU'] for host in cloud.hosts]
            used = [host.fullness() for host in cloud.hosts]
            found = sum(map(operator.mul, size, used)) / sum(size)
            self.assertAlmostEqual(share, found, delta=0.01)

    def test_only_the_scarce_family_has_scarce_classes(self):
        for family in groups.FAMILIES:
            for seed in range(5):
                raw, _ = generator.generate(100, 20, family, 0.9, seed)
                classes = raw['classes'].values()
                scarce = [c for c in classes if _is_scarce(c)]
                self.assertEqual(family == 'scarce', bool(scarce))

    def test_the_command_prints_a_problem_file(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            generator.main(['40', '5', 'topology', '0.8', '9'])
        expected, _ = generator.generate(40, 5, 'topology', 0.8, 9)
        self.assertEqual(expected, problems.load(out.getvalue().encode()))

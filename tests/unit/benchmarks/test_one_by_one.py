# SPDX-License-Identifier: Apache-2.0
"""Placement of one server at a time, the benchmark's comparison."""

from oslotest import base

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from tests.benchmarks.planner import generator
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import one_by_one
from tests.unit.solver import builders

SPREADING = one_by_one.WEIGHTS['spreading']
PACKING = one_by_one.WEIGHTS['packing']


def _placed(sign, topology, hosts):
    problem = builders.problem(hosts, topology)
    plan = one_by_one.place(problem, sign)
    return plan and plan.placement


class TestOneByOne(base.BaseTestCase):
    def test_spreading_takes_the_emptiest_host(self):
        hosts = builders.racks(a=(2, 8), b=(4,))
        found = _placed(SPREADING, builders.group(web=1), hosts)
        self.assertEqual({'web-0': 'a2'}, found)

    def test_packing_takes_the_fullest_host_with_capacity(self):
        hosts = builders.racks(a=(0, 8), b=(4,))
        found = _placed(PACKING, builders.group(web=1), hosts)
        self.assertEqual({'web-0': 'b1'}, found)

    def test_strict_anti_affinity_is_respected(self):
        rule = builders.policy('anti-affinity', 'rack')
        hosts = builders.racks(a=(8, 8), b=(4,))
        found = _placed(SPREADING, builders.group([rule], web=2), hosts)
        self.assertEqual({'web-0': 'a1', 'web-1': 'b1'}, found)

    def test_group_that_needs_lookahead_is_not_placed(self):
        together = builders.policy('affinity', 'rack')
        apart = builders.policy('anti-affinity', 'host')
        topology = builders.group([together, apart], web=2)
        hosts = builders.racks(a=(8,), b=(4, 4))
        self.assertIsNone(_placed(SPREADING, topology, hosts))

    def test_spread_uses_its_missing_domains_first(self):
        rule = builders.policy('spread', 'rack', min_domains=2, max_skew=1)
        topology = builders.group([rule], web=4)
        hosts = builders.racks(a=(90,), b=(50,), c=(8,))
        found = _placed(SPREADING, topology, hosts)
        self.assertEqual(['a1', 'b1', 'a1', 'b1'], list(found.values()))

    def test_survive_limits_the_members_of_one_domain(self):
        rule = builders.policy('survive', 'rack', min_members=2)
        topology = builders.group([rule], web=4)
        hosts = builders.racks(a=(90,), b=(50,), c=(8,))
        found = _placed(SPREADING, topology, hosts)
        self.assertEqual(['a1', 'a1', 'b1', 'b1'], list(found.values()))

    def test_strict_proximity_keeps_to_the_related_member(self):
        tie = builders.policy('network-proximity', 'rack')
        topology = builders.group(
            relationships=[builders.tie('api', 'web', tie)], api=1, web=1
        )
        hosts = builders.racks(a=(8,), b=(9, 1))
        found = _placed(SPREADING, topology, hosts)
        self.assertEqual({'api-0': 'b1', 'web-0': 'b1'}, found)

    def test_every_plan_is_feasible(self):
        found = 0
        for family in groups.FAMILIES:
            for seed in range(3):
                raw, _ = generator.generate(100, 12, family, 0.7, seed)
                problem = problems.parse(raw)
                plan = one_by_one.place(problem, SPREADING)
                if plan:
                    found += 1
                    self.assertEqual([], violations.find(problem, plan))
        self.assertGreater(found, 0)

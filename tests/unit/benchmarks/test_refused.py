# SPDX-License-Identifier: Apache-2.0
"""Impossible problems of the planner's benchmark."""

import collections
import json

from oslotest import base

from nova_groupext.solver.model import problems
from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import refused


def _generate(kind, seed):
    raw = refused.generate_refused(120, 30, kind, seed)
    return problems.parse(raw)


def _capacities(problem, name, most):
    """Return {rack: servers of a class that fit, up to most per host}."""
    request = problem.classes[name].request
    found = collections.Counter()
    for host in problem.hosts.values():
        fits = min(host.free.get(r, 0) // n for r, n in request.items())
        found[host.domains['rack']] += min(most, fits)
    return found


def _sizes(problem):
    """Return {path of a generated subgroup: number of its members}."""
    member_sets = problem.topology.member_sets
    return {s.node: s.count for s in member_sets if s.node.startswith('job-')}


class TestRefused(base.BaseTestCase):
    def test_no_rack_is_large_enough(self):
        for seed in (0, 2, 4):
            problem = _generate('local', seed)
            (size,) = _sizes(problem).values()
            largest = max(_capacities(problem, 'm24', 1).values())
            self.assertEqual(size - 1, largest)

    def test_one_gpu_is_missing(self):
        for seed in (1, 3, 5):
            problem = _generate('local', seed)
            (size,) = _sizes(problem).values()
            left = [h.free.get(clouds.GPU, 0) for h in problem.hosts.values()]
            self.assertEqual(size - 1, sum(left))

    def test_only_one_rack_is_large_enough_for_one_subgroup(self):
        for seed in (0, 2, 4):
            problem = _generate('contention', seed)
            (size, _) = _sizes(problem).values()
            capacities = _capacities(problem, 'm24', 1)
            (rack,) = [r for r, n in capacities.items() if n >= size]
            self.assertLess(_capacities(problem, 'm24', 2)[rack], 2 * size)

    def test_capacity_for_one_large_server_is_missing(self):
        for seed in (1, 3, 5):
            problem = _generate('contention', seed)
            needed = sum(_sizes(problem).values())
            capacities = _capacities(problem, 'm32', 3)
            self.assertEqual(needed - 1, capacities.total())

    def test_the_same_seed_gives_the_same_file(self):
        for kind in refused.KINDS:
            first, second = (
                json.dumps(refused.generate_refused(100, 20, kind, 4))
                for _ in range(2)
            )
            self.assertEqual(first, second)

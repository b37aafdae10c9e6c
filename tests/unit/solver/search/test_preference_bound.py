# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/solver/search/preference_bound.py``."""

import itertools
import random

from oslotest import base

from nova_groupext.solver.model import violations
from nova_groupext.solver.search import preference_bound
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks


def scored(**scores):
    return {'one': {'request': {'VCPU': 1}, 'scores': scores}}


class TestFind(base.BaseTestCase):
    def assert_bound(self, expected, problem):
        self.assertEqual(expected, preference_bound.find(problem))

    def test_members_are_on_the_best_hosts_with_capacity(self):
        self.assert_bound(
            2 * 3 + 2,
            builders.problem(
                racks(a=(2, 1), b=(9,)), group(w=3), scored(a1=3, a2=2, b1=1)
            ),
        )

    def test_host_without_a_score_counts_nothing(self):
        self.assert_bound(
            3, builders.problem(racks(a=(1, 2)), group(w=3), scored(a1=3))
        )

    def test_pinned_member_has_the_score_of_its_host(self):
        self.assert_bound(
            1 + 3,
            builders.problem(
                *(racks(a=(2, 2)), group(w=2), scored(a1=3, a2=1)),
                pinned={'w-0': 'a2'},
            ),
        )

    def test_no_plan_of_all_members_exceeds_it(self):
        draw = random.Random(7)
        reached = 0
        for _each in range(60):
            hosts = racks(a=[draw.randint(0, 3) for _host in range(3)])
            scores = {f'a{n}': draw.randint(-3, 3) for n in (1, 2, 3)}
            problem = builders.problem(hosts, group(w=3), scored(**scores))
            preferences = [
                violations.preference(problem, plan.placement)
                for plan in plans(problem)
                if not violations.find(problem, plan)
            ]
            if preferences:
                bound = preference_bound.find(problem)
                self.assertLessEqual(max(preferences), bound)
                reached += max(preferences) == bound
        self.assertGreater(reached, 20)


def plans(problem):
    """Yield all assignments of all members."""
    paths = [*problem.class_of]
    for hosts in itertools.product(problem.hosts, repeat=len(paths)):
        yield violations.Plan(dict(zip(paths, hosts, strict=True)), {})

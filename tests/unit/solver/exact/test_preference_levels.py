# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/solver/exact/preference_levels.py``."""

import itertools
import random

import numpy as np
from oslotest import base

from nova_groupext.solver.exact import preference_levels
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import stages

HOSTS = 'a', 'b', 'c', 'd'


def split(*scores, members=2):
    levels = preference_levels.split(np.array(scores, float), members)
    return [each.tolist() for each in levels]


class TestSplit(base.BaseTestCase):
    def test_scores_of_one_magnitude_are_one_level(self):
        self.assertEqual([[0, 500, 1000]], split(0, 1, 2))

    def test_scores_that_are_no_multiples_stay_together(self):
        [level] = split(0, 2, 3)

        self.assertEqual(1000, max(level))

    def test_small_scores_are_a_level_of_their_own(self):
        self.assertEqual([[0, 1000, 0], [0, 0, 1000]], split(0, 1e9, 2))

    def test_scores_that_many_members_add_up_stay_together(self):
        self.assertEqual(1, len(split(0, 1e9, 2, members=10**6)))

    def test_equal_scores_leave_no_rest(self):
        self.assertEqual(1, len(split(0.1, 0.2, 0.3)))

    def test_no_score_is_no_level(self):
        self.assertEqual([], split(0, 0))


class TestDistantScores(base.BaseTestCase):
    """Scores of 1e9 beside 2 and 3, compared with all placements."""

    CASES = 40

    def test_preference_is_best_and_host_ids_are_smallest(self):
        for seed in range(self.CASES):
            problem = _problem(random.Random(seed))
            with self.subTest(seed=seed):
                placement = stages.solve(problem).placement
                self.assertEqual(
                    _best(problem), (placement['m'], placement['n'])
                )


def _problem(rng):
    def member_class(*scores):
        chosen = {host: rng.choice(scores) for host in HOSTS}
        return {'request': {'V': 1}, 'scores': chosen}

    return problems.parse(
        {
            'version': 1,
            'levels': ['host'],
            'hosts': [
                {'id': host, 'domains': {}, 'free': {'V': rng.choice([1, 2])}}
                for host in HOSTS
            ],
            'classes': {
                'light': member_class(0, 2, 2, 3),
                'heavy': member_class(1e9, 1e9, 0),
            },
            'topology': {
                'members': {'m': {'class': 'light'}, 'n': {'class': 'heavy'}},
                'policies': [],
            },
            'time_limit': 5,
            'seed': 0,
        }
    )


def _best(problem):
    """Return the hosts of the best placement, the smallest of equal ones."""

    def rank(hosts):
        placement = dict(zip('mn', hosts, strict=True))
        return -violations.preference(problem, placement), hosts

    return min(
        (
            hosts
            for hosts in itertools.product(HOSTS, repeat=2)
            if not violations.find(
                problem,
                violations.Plan(dict(zip('mn', hosts, strict=True)), {}),
            )
        ),
        key=rank,
    )

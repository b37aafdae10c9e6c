# SPDX-License-Identifier: Apache-2.0
"""Planning within the time limit with hundreds of policies.

A solver that fails, or has not ended ten seconds after its time limit, is
killed: its answer has a reason.
"""

import unittest

from nova_groupext.solver.solve import child
from tests.unit.solver import builders

SECONDS = 2
KINDS = (
    ('affinity', {}),
    ('anti-affinity', {'max_per_domain': 2}),
    ('spread', {}),
    ('survive', {'min_members': 2}),
    ('network-proximity', {}),
)
RACKS = {f'r{n}': (2, 2, 2) for n in range(60)}


def soft(kinds, number=0):
    """Soft policies that no other number has."""
    scope = ('rack', 'host', 'zone')[number % 3]
    return [
        builders.policy(kind, scope, False, weight=1 + number / 8, **options)
        for kind, options in kinds
    ]


def relationships(pairs, kinds):
    return [
        {**builders.tie(one, other, *soft(kinds, n)), 'name': f'tie-{n}'}
        for n, (one, other) in enumerate(pairs)
    ]


def members(count):
    return {f'm{n}': 1 for n in range(count)}


class TestManyPolicies(unittest.TestCase):
    def assert_in_time(self, topology, seconds=SECONDS):
        problem = builders.problem(
            builders.racks(**RACKS), topology, time_limit=seconds
        )
        answer = child.run(problem)
        self.assertEqual('placed', answer.status)
        self.assertNotIn('reason', answer.stats)
        return answer

    def test_many_equal_policies_are_planned_in_time(self):
        policies = soft(KINDS[:4]) * 250
        answer = self.assert_in_time(builders.group(policies, w=200))
        self.assertEqual(answer.cost['soft'], answer.cost['bound'])

    def test_many_different_policies_are_planned_in_time(self):
        policies = [each for n in range(200) for each in soft(KINDS, n)]
        self.assert_in_time(builders.group(policies, w=150, v=100))

    def test_member_related_to_all_others_is_planned_in_time(self):
        """As deep as it is tied, attempts decide where it goes."""
        pairs = [('hub', f'm{n}') for n in range(250)]
        self.assert_in_time(
            builders.group(
                [], relationships(pairs, KINDS[:1]), hub=1, **members(250)
            ),
            seconds=4,
        )

    def test_chain_of_related_members_is_planned_in_time(self):
        pairs = [(f'm{n}', f'm{n + 1}') for n in range(199)]
        self.assert_in_time(
            builders.group([], relationships(pairs, KINDS), **members(200))
        )

# SPDX-License-Identifier: Apache-2.0
"""Incumbent: the best plan so far."""

import fractions

from oslotest import base

from nova_groupext.solver.model import violations
from nova_groupext.solver.search import incumbent
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestIncumbent(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        scores = {'a1': 1, 'b1': 0.1}
        self.problem = builders.problem(
            racks(a=(8,), b=(8,)),
            group(
                [policy('anti-affinity', 'rack', False, weight=0.3)],
                w={'class': 'one', 'count': 3, 'min_count': 1},
            ),
            {'one': {'request': {'VCPU': 1}, 'scores': scores}},
        )

    def plan(self, *hosts):
        paths = [f'w-{number}' for number in range(len(hosts))]
        return violations.Plan(dict(zip(paths, hosts, strict=True)), {})

    def best(self, *hosts):
        return incumbent.Incumbent(self.problem, self.plan(*hosts))

    def test_first_plan_is_the_incumbent(self):
        best = self.best('a1', 'a1')
        self.assertEqual(self.plan('a1', 'a1'), best.plan)
        self.assertEqual(fractions.Fraction('0.3'), best.cost)
        self.assertEqual(0, best.bound)

    def test_more_members_are_better_than_less_cost(self):
        best = self.best('a1', 'b1')
        self.assertTrue(best.offer(self.plan('a1', 'a1', 'a1')))
        self.assertFalse(best.offer(self.plan('a1', 'b1')))
        self.assertEqual(3, len(best.plan.placement))

    def test_less_cost_is_better_than_scores(self):
        best = self.best('a1', 'a1')
        self.assertTrue(best.offer(self.plan('a1', 'b1')))
        self.assertFalse(best.offer(self.plan('a1', 'a1')))
        self.assertEqual(0, best.cost)

    def test_scores_decide_between_equal_costs(self):
        best = self.best('b1', 'b1')
        self.assertTrue(best.offer(self.plan('a1', 'a1')))
        self.assertEqual(2, best.objective.preference)

    def test_equal_plan_does_not_replace_the_incumbent(self):
        best = self.best('a1', 'b1')
        known = best.plan
        self.assertFalse(best.offer(self.plan('b1', 'a1')))
        self.assertIs(known, best.plan)

    def test_plan_of_all_members_at_no_cost_is_perfect(self):
        self.assertFalse(self.best('a1', 'b1').is_perfect)
        self.assertFalse(self.best('a1', 'b1', 'b1').is_perfect)
        problem = builders.problem(racks(a=(8,)), group(w=1))
        self.assertTrue(
            incumbent.Incumbent(problem, self.plan('a1')).is_perfect
        )

    def test_incumbent_becomes_an_answer(self):
        best = self.best('a1', 'b1', 'a1')
        best.bound = fractions.Fraction('0.1')
        answer = best.answer(
            best.problem, {'stage': 'greedy', 'cut_short': True}
        )
        self.assertEqual('placed', answer.status)
        self.assertEqual(best.plan.placement, answer.placement)
        self.assertEqual(
            {'soft': 0.3, 'bound': 0.1, 'preference': 2.1}, answer.cost
        )
        self.assertEqual(
            {'stage': 'greedy', 'cut_short': True, 'members_bound': 3},
            answer.stats,
        )

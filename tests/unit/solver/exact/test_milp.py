# SPDX-License-Identifier: Apache-2.0
"""Does HiGHS say what is so, and the same every time?"""

import fixtures
from highspy import ObjSense
from highspy import highs
from oslotest import base

from nova_groupext.solver.exact import milp
from nova_groupext.solver.model import time_budget


def knapsack(size, seed=0):
    """A programme that takes a while, and its objective."""
    solver = milp.MixedIntegerProgram(seed, time_budget.TimeBudget(60))
    columns = [solver.add_whole(3) for _ in range(size)]
    for turn in range(3):
        weights = [(7 + turn * 11 + 13 * n * n) % 101 + 9 for n in range(size)]
        load = highs.qsum(
            column * weight
            for column, weight in zip(columns, weights, strict=True)
        )
        solver.add_row(load <= sum(weights))
    values = [(31 + 17 * n * n) % 89 + 7 for n in range(size)]
    worth = highs.qsum(
        column * value for column, value in zip(columns, values, strict=True)
    )
    return solver, worth


class TestRun(base.BaseTestCase):
    """With and without what pays for large programmes."""

    LARGE = milp._LARGE

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(milp, '_LARGE', self.LARGE))
        self.solver = milp.MixedIntegerProgram(0, time_budget.TimeBudget(60))

    def run_(self, objective=None, sense=ObjSense.kMinimize, seconds=60):
        objective = highs.qsum([]) if objective is None else objective
        return milp.run(self.solver, objective, sense, seconds)

    def test_the_best_whole_numbers(self):
        first, second = self.solver.add_whole(9), self.solver.add_whole(9)
        self.solver.add_row(first * 2 + second * 3 <= 8)
        outcome = self.run_(first * 3 + second * 5, ObjSense.kMaximize)
        self.assertIs(milp.Status.OPTIMAL, outcome.status)
        self.assertEqual(
            [1, 2],
            [round(outcome.values[each.index]) for each in (first, second)],
        )
        self.assertAlmostEqual(13, outcome.bound)

    def test_any_solution(self):
        column = self.solver.add_whole(9)
        self.solver.add_row(column >= 4)
        outcome = self.run_()
        self.assertIs(milp.Status.OPTIMAL, outcome.status)
        self.assertGreaterEqual(outcome.values[column.index], 4 - 1e-6)

    def test_a_proof_that_there_is_none(self):
        column = self.solver.add_whole(9)
        self.solver.add_row(column * 2 >= 5)
        self.solver.add_row(column * 2 <= 5)
        outcome = self.run_(column)
        self.assertIs(milp.Status.INFEASIBLE, outcome.status)
        self.assertEqual([], outcome.values)

    def test_nothing_to_choose(self):
        outcome = self.run_()
        self.assertIs(milp.Status.OPTIMAL, outcome.status)
        self.assertEqual(0, outcome.bound)

    def test_one_objective_after_the_other(self):
        first, second = self.solver.add_whole(5), self.solver.add_whole(5)
        self.solver.add_row(first + second <= 6)
        self.run_(first, ObjSense.kMaximize)
        self.solver.add_row(first >= 5)
        outcome = self.run_(second, ObjSense.kMaximize)
        self.assertAlmostEqual(1, outcome.values[second.index])

    def test_columns_that_come_later_are_whole_too(self):
        first = self.solver.add_whole(9)
        self.run_(first, ObjSense.kMaximize)
        second = self.solver.add_whole(9)
        self.solver.add_row(second * 2 <= 5)
        outcome = self.run_(second, ObjSense.kMaximize)
        self.assertAlmostEqual(2, outcome.values[second.index])
        self.assertAlmostEqual(2, outcome.bound)


class TestRunLarge(TestRun):
    LARGE = 0


class TestTime(base.BaseTestCase):
    def test_none_at_all_proves_nothing(self):
        solver, worth = knapsack(60)
        outcome = milp.run(solver, worth, ObjSense.kMaximize, 0)
        self.assertIn(outcome.status, (milp.Status.UNKNOWN, milp.Status.FOUND))

    def test_what_is_known_is_not_lost(self):
        solver, worth = knapsack(60)
        solver.mark_integer()
        solver.setSolution(1, [0], [0])
        outcome = milp.run(solver, worth, ObjSense.kMaximize, 0)
        self.assertIsNot(milp.Status.INFEASIBLE, outcome.status)


class TestSeed(base.BaseTestCase):
    def test_the_same_seed_gives_the_same_solution(self):
        found = []
        for _ in range(2):
            solver, worth = knapsack(15, seed=7)
            outcome = milp.run(solver, worth, ObjSense.kMaximize, 60)
            self.assertIs(milp.Status.OPTIMAL, outcome.status)
            found.append(outcome.values)
        self.assertEqual(*found)

    def test_every_seed_gives_the_same_optimum(self):
        bounds = set()
        for seed in range(3):
            solver, worth = knapsack(12, seed)
            outcome = milp.run(solver, worth, ObjSense.kMaximize, 60)
            bounds.add(round(outcome.bound, 6))
        self.assertEqual(1, len(bounds))


class TestWriting(base.BaseTestCase):
    def write(self, seconds):
        solver = milp.MixedIntegerProgram(0, time_budget.TimeBudget(seconds))
        for _ in range(1000):
            solver.add_row(solver.add_whole(1) >= 1)
        return solver

    def test_stops_when_time_is_over(self):
        self.assertRaises(time_budget.OutOfTime, self.write, 0)

    def test_goes_on_while_there_is_time(self):
        self.assertEqual(1000, self.write(60).numConstrs)

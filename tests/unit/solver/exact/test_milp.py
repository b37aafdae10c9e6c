# SPDX-License-Identifier: Apache-2.0
"""Mixed integer programs, solved by HiGHS."""

import random
import subprocess
import sys
import time

import fixtures
from highspy import ObjSense
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import time_budget


def knapsack(size, seed=0):
    """A program that takes a while, and its objective."""
    solver = milp.MixedIntegerProgram(seed, time_budget.TimeBudget(60))
    columns = [solver.add_integer(3) for _ in range(size)]
    for turn in range(3):
        weights = [(7 + turn * 11 + 13 * n * n) % 101 + 9 for n in range(size)]
        load = expressions.total(
            column * weight
            for column, weight in zip(columns, weights, strict=True)
        )
        solver.add_row(load <= sum(weights))
    values = [(31 + 17 * n * n) % 89 + 7 for n in range(size)]
    worth = expressions.total(
        column * value for column, value in zip(columns, values, strict=True)
    )
    return solver, worth


def market_split(rows, columns):
    """Equations of 0/1 columns (Cornuéjols and Dawande, 1998)."""
    rng = random.Random(0)
    solver = milp.MixedIntegerProgram(0, time_budget.TimeBudget(60))
    binaries = [solver.add_integer(1) for _ in range(columns)]
    for _ in range(rows):
        factors = [rng.randrange(100) for _ in binaries]
        terms = zip(binaries, factors, strict=True)
        total = expressions.total([each * factor for each, factor in terms])
        solver.add_row(total.equals(sum(factors) // 2))
    return solver


def maximise(solver, objective, seconds=60, budget=None):
    budget = budget or time_budget.TimeBudget(seconds)
    return milp.run(solver, objective, ObjSense.kMaximize, budget)


class TestRun(base.BaseTestCase):
    """Programs without and with the options for large ones."""

    LARGE = tuning.LARGE_PROGRAM

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'LARGE_PROGRAM', self.LARGE)
        )
        self.solver = milp.MixedIntegerProgram(0, time_budget.TimeBudget(60))

    def run_(
        self,
        objective=None,
        sense=ObjSense.kMinimize,
        seconds=60,
        **options,
    ):
        objective = expressions.total([]) if objective is None else objective
        budget = time_budget.TimeBudget(seconds)
        return milp.run(self.solver, objective, sense, budget, **options)

    def test_optimum_has_integer_values(self):
        first, second = self.solver.add_integer(9), self.solver.add_integer(9)
        self.solver.add_row(first * 2 + second * 3 <= 8)
        result = self.run_(first * 3 + second * 5, ObjSense.kMaximize)
        self.assertIs(milp.Status.OPTIMAL, result.status)
        self.assertEqual(
            [1, 2],
            [round(result.values[each.index]) for each in (first, second)],
        )
        self.assertAlmostEqual(13, result.bound)

    def test_solution_is_found_without_an_objective(self):
        column = self.solver.add_integer(9)
        self.solver.add_row(column >= 4)
        result = self.run_()
        self.assertIs(milp.Status.OPTIMAL, result.status)
        self.assertGreaterEqual(result.values[column.index], 4 - 1e-6)

    def test_infeasible_program_is_proved(self):
        column = self.solver.add_integer(9)
        self.solver.add_row(column * 2 >= 5)
        self.solver.add_row(column * 2 <= 5)
        result = self.run_(column)
        self.assertIs(milp.Status.INFEASIBLE, result.status)
        self.assertEqual([], result.values)

    def test_proof_of_presolve_is_confirmed_where_it_is_needed(self):
        column = self.solver.add_integer(9)
        self.solver.add_row(column >= 10)
        runs = []
        self.useFixture(
            fixtures.MockPatchObject(
                *(self.solver, 'run_within'),
                lambda budget: (runs.append(budget), self.solver.run()),
            )
        )

        for need, expected in (
            (Proof.CONFIRMED, 1 + (not self.LARGE)),
            (Proof.EXPECTED, 1),
            (Proof.NEEDLESS, 1),
        ):
            runs.clear()
            result = self.run_(column, proof=need)
            self.assertIs(milp.Status.INFEASIBLE, result.status)
            self.assertEqual(expected, len(runs))

    def test_program_without_columns_is_optimal(self):
        result = self.run_()
        self.assertIs(milp.Status.OPTIMAL, result.status)
        self.assertEqual(0, result.bound)

    def test_second_objective_is_optimised_after_the_first(self):
        first, second = self.solver.add_integer(5), self.solver.add_integer(5)
        self.solver.add_row(first + second <= 6)
        self.run_(first, ObjSense.kMaximize)
        self.solver.add_row(first >= 5)
        result = self.run_(second, ObjSense.kMaximize)
        self.assertAlmostEqual(1, result.values[second.index])

    def test_column_added_later_is_integer(self):
        first = self.solver.add_integer(9)
        self.run_(first, ObjSense.kMaximize)
        second = self.solver.add_integer(9)
        self.solver.add_row(second * 2 <= 5)
        result = self.run_(second, ObjSense.kMaximize)
        self.assertAlmostEqual(2, result.values[second.index])
        self.assertAlmostEqual(2, result.bound)


class TestRunLarge(TestRun):
    LARGE = 0


class TestOutput(base.BaseTestCase):
    def test_program_that_is_solved_prints_nothing(self):
        script = (
            'from nova_groupext.solver.exact import milp\n'
            'from nova_groupext.solver.model import time_budget\n'
            'budget = time_budget.TimeBudget(60)\n'
            'milp.MixedIntegerProgram(0, budget).run()\n'
        )

        # HiGHS writes to the file itself, past sys.stdout.
        done = subprocess.run(
            [sys.executable, '-c', script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )

        self.assertEqual(b'', done.stdout)


class TestTime(base.BaseTestCase):
    def test_time_limit_of_0_proves_nothing(self):
        solver, worth = knapsack(60)
        result = maximise(solver, worth, 0)
        self.assertIn(result.status, (milp.Status.UNKNOWN, milp.Status.FOUND))

    def test_known_solution_is_kept_without_time(self):
        solver, worth = knapsack(60)
        solver.pass_additions()
        solver.setSolution(1, [0], [0])
        result = maximise(solver, worth, 0)
        self.assertIsNot(milp.Status.INFEASIBLE, result.status)

    def assert_ends(self, seconds, wall_seconds):
        """Check that a program that takes minutes ends soon."""
        solver = market_split(rows=5, columns=40)
        budget = time_budget.TimeBudget(seconds)
        self.useFixture(
            fixtures.MockPatchObject(
                budget, 'wall_seconds', lambda: wall_seconds
            )
        )
        began = time.monotonic()
        result = maximise(solver, expressions.total([]), budget=budget)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIs(milp.Status.UNKNOWN, result.status)

    def test_end_of_the_budget_interrupts_a_run(self):
        self.assert_ends(seconds=0.2, wall_seconds=60)

    def test_own_limit_of_highs_ends_a_run_that_asks_for_no_time(self):
        self.assert_ends(seconds=60, wall_seconds=0.2)


class TestSeed(base.BaseTestCase):
    def test_the_same_seed_gives_the_same_solution(self):
        found = []
        for _ in range(2):
            solver, worth = knapsack(15, seed=7)
            result = maximise(solver, worth, 60)
            self.assertIs(milp.Status.OPTIMAL, result.status)
            found.append(result.values)
        self.assertEqual(*found)

    def test_every_seed_gives_the_same_optimum(self):
        bounds = set()
        for seed in range(3):
            solver, worth = knapsack(12, seed)
            result = maximise(solver, worth, 60)
            bounds.add(round(result.bound, 6))
        self.assertEqual(1, len(bounds))


class TestWriting(base.BaseTestCase):
    def write(self, seconds):
        solver = milp.MixedIntegerProgram(0, time_budget.TimeBudget(seconds))
        for _ in range(1000):
            solver.add_row(solver.add_integer(1) >= 1)
        return solver

    def test_writing_stops_when_time_is_over(self):
        self.assertRaises(time_budget.OutOfTime, self.write, 0)

    def test_writing_goes_on_while_there_is_time(self):
        solver = self.write(60)

        solver.pass_additions()

        self.assertEqual(1000, solver.numConstrs)

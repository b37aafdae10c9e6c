# SPDX-License-Identifier: Apache-2.0
"""HiGHS with deterministic settings and no optimality gap."""

import dataclasses
import enum
import math
from typing import cast

import highspy
import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.exact.expressions import Column
from nova_groupext.solver.exact.expressions import Comparison
from nova_groupext.solver.exact.expressions import Expression
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import tools

#: HiGHS ignores coefficients below 1e-9.
MIN_COEFFICIENT = 1e-7


class Status(enum.Enum):
    """Result of a run; FOUND is a solution without proof of optimality."""

    OPTIMAL = 'optimal'
    FOUND = 'found'
    INFEASIBLE = 'infeasible'
    UNKNOWN = 'unknown'


_STATUSES = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    # Every objective here is bounded.
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE,
}


@dataclasses.dataclass(frozen=True)
class SolveResult:
    """Result of a run.

    :ivar values: value of every column, empty without a solution
    :ivar bound: proven bound of the objective
    """

    status: Status
    values: list[float]
    bound: float


# HiGHS has no type stubs where mypy runs.
class MixedIntegerProgram(highspy.Highs):  # type: ignore[misc]
    """A mixed integer program, built column by column and row by row.

    HiGHS takes about as long for one column or row as for thousands, so it
    gets what is new with the next run.

    :ivar columns: number of columns
    """

    def __init__(self, seed: int, budget: time_budget.TimeBudget) -> None:
        """Create a program with one column that is always 0.

        :param seed: of the solver's random numbers
        :param budget: after its end, methods that add to the program raise
            OutOfTime
        """
        super().__init__()
        self.budget = budget
        self.columns = 0
        self._rows = 0
        self._upper: list[float] = []
        self._integers: list[int] = []
        self._new_rows = _Rows()
        self._run_budget = budget
        # In presolve, HiGHS heeds nothing but its own time limit.
        self.cbMipInterrupt += self._interrupt
        self.cbSimplexInterrupt += self._interrupt
        self.cbIpmInterrupt += self._interrupt
        self.setOptionValue('threads', 1)
        self.setOptionValue('random_seed', seed)
        self.setOptionValue('mip_rel_gap', 0.0)
        # HiGHS ignores rows without a column, and gives no bound without an
        # integer column.
        self.add_integer(0)

    def enableCallbacks(self) -> None:
        """Silence HiGHS before it greets, when it is constructed."""
        self.silent()
        super().enableCallbacks()

    def add_integer(self, upper: float) -> Column:
        """Add an integer column from 0 to ``upper``."""
        column = self.add_column(upper)
        self._integers.append(column.index)
        return column

    def add_column(self, upper: float) -> Column:
        """Add a continuous column from 0 to ``upper``."""
        self._check_time()
        self._upper.append(upper)
        self.columns += 1
        return Column(self.columns - 1)

    def add_integers(self, upper: Ints) -> int:
        """Add integer columns from 0 up; return the number of the first."""
        first = self.columns
        self._upper += upper.tolist()
        self.columns += len(upper)
        self._integers += range(first, self.columns)
        self.budget.check()
        return first

    def add_limits(
        self, upper: Floats, starts: Ints, columns: Ints, coefficients: Floats
    ) -> None:
        """Add rows that limit sums of columns.

        :param upper: by row
        :param starts: by row, its first entry in the two other arrays
        """
        self._new_rows.add_limits(upper, starts, columns, coefficients)
        self._rows += len(upper)
        self.budget.check()

    def add_row(self, comparison: tools.Comparison) -> int:
        """Add a comparison of two expressions; return the number of the row.

        :param comparison: expressions.Comparison
        """
        self._check_time()
        self._new_rows.add(cast(Comparison, comparison))
        self._rows += 1
        return self._rows - 1

    def limit_row(self, row: int, upper: float) -> None:
        """Replace the bounds of a row by an upper bound."""
        self.pass_additions()
        self.changeRowBounds(row, -math.inf, upper)

    def pass_additions(self) -> None:
        """Hand what is new to HiGHS."""
        number = len(self._upper)
        if number:
            upper = np.array(self._upper)
            self.addVars(number, np.zeros(number), upper)
        integers = np.array(self._integers, np.int32)
        types = [highspy.HighsVarType.kInteger] * len(integers)
        self.changeColsIntegrality(len(integers), integers, np.array(types))
        rows = self._new_rows
        if rows.starts:
            self.addRows(
                len(rows.starts),
                np.array(rows.lower),
                np.array(rows.upper),
                len(rows.columns),
                np.array(rows.starts, np.int32),
                np.array(rows.columns, np.int32),
                np.array(rows.coefficients),
            )
        self._upper, self._integers, self._new_rows = [], [], _Rows()

    def set_objective(
        self, objective: Expression, sense: highspy.ObjSense
    ) -> None:
        """Replace the objective.

        :param sense: whether it is minimised or maximised
        """
        costs = np.zeros(self.columns)
        np.add.at(costs, [*objective.columns], objective.coefficients)
        columns = np.arange(self.columns, dtype=np.int32)
        self.changeColsCost(self.columns, columns, costs)
        self.changeObjectiveOffset(objective.constant)
        self.changeObjectiveSense(sense)

    def run_within(self, budget: time_budget.TimeBudget) -> None:
        """Run HiGHS until the time is over."""
        self._run_budget = budget
        self.setOptionValue('time_limit', budget.wall_seconds())
        self.run()

    def _interrupt(self, event: highspy.HighsCallbackEvent) -> None:
        if not self._run_budget.remaining():
            event.interrupt()

    def _check_time(self) -> None:
        # Building a large program takes longer than solving many others.
        if not (self.columns + self._rows) % tuning.CHECK_INTERVAL:
            self.budget.check()


class _Rows:
    """Rows that HiGHS does not have yet, as it takes them."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.starts: list[int] = []
        self.columns: list[int] = []
        self.coefficients: list[float] = []

    def add_limits(
        self, upper: Floats, starts: Ints, columns: Ints, coefficients: Floats
    ) -> None:
        self.lower += [-math.inf] * len(upper)
        self.upper += upper.tolist()
        self.starts += (starts + len(self.columns)).tolist()
        self.columns += columns.tolist()
        self.coefficients += coefficients.tolist()

    def add(self, comparison: Comparison) -> None:
        columns, coefficients = comparison.terms()
        self.lower.append(comparison.lower)
        self.upper.append(comparison.upper)
        self.starts.append(len(self.columns))
        self.columns += columns
        self.coefficients += coefficients


def run(
    solver: MixedIntegerProgram,
    objective: Expression,
    sense: highspy.ObjSense,
    budget: time_budget.TimeBudget,
    *,
    proof: Proof = Proof.CONFIRMED,
) -> SolveResult:
    """Optimise a program until the time is over.

    Presolve has had bugs that make a feasible program infeasible or an error:
    these results count only if HiGHS confirms them without presolve.

    :param proof: need of INFEASIBLE
    """
    solver.pass_additions()
    solver.set_objective(objective, sense)
    is_large = solver.columns >= tuning.LARGE_PROGRAM
    if is_large and proof is Proof.EXPECTED:
        part = budget.attempt(budget.remaining() * tuning.UNPRESOLVED_SHARE)
        result = _run(solver, False, part)
        if result.status in (Status.INFEASIBLE, Status.OPTIMAL):
            return result
    result = _run(solver, is_large, budget)
    is_doubtful = (
        proof is not Proof.NEEDLESS
        if result.status is Status.INFEASIBLE
        else result.status is Status.UNKNOWN and budget.remaining() > 0
    )
    if is_large and is_doubtful:
        result = _run(solver, False, budget)
    return result


def _run(
    solver: MixedIntegerProgram,
    is_large: bool,
    budget: time_budget.TimeBudget,
) -> SolveResult:
    solver.setOptionValue('presolve', 'on' if is_large else 'off')
    solver.setOptionValue('mip_heuristic_run_feasibility_jump', is_large)
    solver.run_within(budget)
    info = solver.getInfo()
    status = _STATUSES.get(solver.getModelStatus(), Status.UNKNOWN)
    has_solution = (
        info.primal_solution_status
        == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    if status is Status.UNKNOWN and has_solution:
        status = Status.FOUND
    return SolveResult(
        status=status,
        values=list(solver.getSolution().col_value) if has_solution else [],
        bound=info.mip_dual_bound,
    )

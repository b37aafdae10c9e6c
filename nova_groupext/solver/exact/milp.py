# SPDX-License-Identifier: Apache-2.0
"""HiGHS with deterministic settings and no optimality gap."""

from collections.abc import Iterable
import dataclasses
import enum
import time
from typing import Protocol

import highspy
from highspy import highs
import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies.tools import Comparison
from nova_groupext.solver.policies.tools import Expression

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


# Presolve has had bugs that make a feasible program infeasible or an error:
# these results count only if HiGHS confirms them without presolve.
_UNCONFIRMED = (Status.INFEASIBLE, Status.UNKNOWN)


class Column(Expression, Protocol):
    """Column of a program."""

    index: int


class Row(Protocol):
    """Row of a program."""

    index: int


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

    Changing one column to integer takes HiGHS about as long as thousands, so
    the next run changes all new ones together.
    """

    def __init__(self, seed: int, budget: time_budget.TimeBudget) -> None:
        """Create a program with one column that is always 0.

        :param seed: of the solver's random numbers
        :param budget: after its end, methods that add to the program raise
            OutOfTime
        """
        super().__init__()
        self.budget = budget
        self._additions = 0
        self._new_integers: list[int] = []
        self.silent()
        self.setOptionValue('threads', 1)
        self.setOptionValue('random_seed', seed)
        self.setOptionValue('mip_rel_gap', 0.0)
        # HiGHS ignores rows without a column, and gives no bound without an
        # integer column.
        self.add_integer(0)

    def add_integer(self, upper: float) -> Column:
        """Add an integer column from 0 to ``upper``."""
        column = self.add_column(upper)
        self._new_integers.append(column.index)
        return column

    def add_column(self, upper: float) -> Column:
        """Add a continuous column from 0 to ``upper``."""
        self._check_time()
        column: Column = self.addVariable(0, upper)
        return column

    def add_row(self, comparison: Comparison) -> Row:
        """Add a comparison of two expressions; return the new row."""
        self._check_time()
        row: Row = self.addConstr(comparison)
        return row

    def add_equality(
        self, left: Expression, right: Expression | float
    ) -> None:
        """Add a row in which two expressions are equal."""
        self._check_time()
        self.addConstr(left == right)

    def mark_integer(self) -> None:
        """Make the new integer columns integer in HiGHS."""
        columns = np.array(self._new_integers, np.int32)
        types = [highspy.HighsVarType.kInteger] * len(columns)
        self.changeColsIntegrality(len(columns), columns, np.array(types))
        self._new_integers = []

    def _check_time(self) -> None:
        # Building a large program takes longer than solving many others.
        self._additions += 1
        if not self._additions % tuning.CHECK_INTERVAL:
            self.budget.check()


def total(
    terms: Iterable[Expression], constant: float | None = None
) -> Expression:
    """Return a sum; Python's own takes long for many terms."""
    expression: Expression = highs.qsum(terms, constant)
    return expression


def run(
    solver: MixedIntegerProgram,
    objective: Expression,
    sense: highspy.ObjSense,
    seconds: float,
) -> SolveResult:
    """Optimise a program within a time limit.

    :param seconds: time limit
    """
    end = time.monotonic() + seconds
    solver.mark_integer()
    solver.setObjective(objective, sense)
    is_large = solver.numVariables >= tuning.LARGE_PROGRAM
    result = _run(solver, is_large, seconds)
    if is_large and result.status in _UNCONFIRMED:
        result = _run(solver, False, end - time.monotonic())
    return result


def _run(
    solver: MixedIntegerProgram, is_large: bool, seconds: float
) -> SolveResult:
    solver.setOptionValue('presolve', 'on' if is_large else 'off')
    solver.setOptionValue('mip_heuristic_run_feasibility_jump', is_large)
    solver.setOptionValue('time_limit', max(0.0, seconds))
    solver.run()
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

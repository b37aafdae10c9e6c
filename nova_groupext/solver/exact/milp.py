# SPDX-License-Identifier: Apache-2.0
"""HiGHS with deterministic settings and no optimality gap."""

import dataclasses
import enum
import time

import highspy
import numpy as np

# Columns from which presolve and the feasibility jump pay: the latter takes a
# fixed 5 ms, more than the whole solution of a small program.
_LARGE_PROGRAM = 500

# Rows and columns added between two checks of the time budget.
_CHECK_INTERVAL = 100

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


@dataclasses.dataclass(frozen=True)
class SolveResult:
    """Result of a run.

    :ivar values: value of every column, empty without a solution
    :ivar bound: proven bound of the objective
    """

    status: Status
    values: list
    bound: float


class MixedIntegerProgram(highspy.Highs):
    """A mixed integer program, built column by column and row by row.

    Changing one column to integer takes HiGHS about as long as thousands, so
    the next run changes all new ones together.
    """

    def __init__(self, seed, budget):
        """Create a program with one column that is always 0.

        :param seed: of the solver's random numbers
        :param budget: TimeBudget; after its end, methods that add to the
            program raise time_budget.OutOfTime
        """
        super().__init__()
        self.budget = budget
        self._additions = 0
        self._new_integers = []
        self.silent()
        self.setOptionValue('threads', 1)
        self.setOptionValue('random_seed', seed)
        self.setOptionValue('mip_rel_gap', 0.0)
        # HiGHS ignores rows without a column, and gives no bound without an
        # integer column.
        self.add_integer(0)

    def add_integer(self, upper):
        """Add an integer column from 0 to ``upper``."""
        column = self.add_column(upper)
        self._new_integers.append(column.index)
        return column

    def add_column(self, upper):
        """Add a continuous column from 0 to ``upper``."""
        self._check_time()
        return self.addVariable(0, upper)

    def add_row(self, comparison):
        """Add a comparison of two expressions; return the new row."""
        self._check_time()
        return self.addConstr(comparison)

    def mark_integer(self):
        """Make the new integer columns integer in HiGHS."""
        columns = np.array(self._new_integers, np.int32)
        types = [highspy.HighsVarType.kInteger] * len(columns)
        self.changeColsIntegrality(len(columns), columns, np.array(types))
        self._new_integers = []

    def _check_time(self):
        # Building a large program takes longer than solving many others.
        self._additions += 1
        if not self._additions % _CHECK_INTERVAL:
            self.budget.check()


def run(solver, objective, sense, seconds):
    """Optimise a program within a time limit.

    :param solver: MixedIntegerProgram
    :param objective: linear expression
    :param sense: highspy.ObjSense
    :param seconds: time limit
    :returns: SolveResult
    """
    end = time.monotonic() + seconds
    solver.mark_integer()
    solver.setObjective(objective, sense)
    is_large = solver.numVariables >= _LARGE_PROGRAM
    result = _run(solver, is_large, seconds)
    if is_large and result.status in _UNCONFIRMED:
        result = _run(solver, False, end - time.monotonic())
    return result


def _run(solver, is_large, seconds):
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

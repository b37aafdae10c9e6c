# SPDX-License-Identifier: Apache-2.0
"""HiGHS, set up to be exact and to do the same every time."""

import dataclasses
import enum
import time

import highspy
import numpy as np

# Columns from which presolve and the feasibility jump pay: HiGHS spends a
# fixed 5 ms in the latter, more than a small programme takes in all.
_LARGE = 500

# Rows and columns that are written between two looks at the clock.
_OFTEN = 100

#: HiGHS takes no coefficient below 1e-9.
TINY = 1e-7


class Status(enum.Enum):
    """How a run ended: the best is found, one is found, none exists, ..."""

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


# Presolve has had bugs that make a feasible programme infeasible or an error;
# what it says against a plan counts only if HiGHS agrees without it.
_NOT_TRUSTED = (Status.INFEASIBLE, Status.UNKNOWN)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of a run.

    :ivar values: value of every column, if there is a solution
    :ivar bound: no solution has a better objective than this
    """

    status: Status
    values: list
    bound: float


class Programme(highspy.Highs):
    """A programme to which columns and rows are added.

    HiGHS takes one column for whole numbers about as slowly as thousands, so
    they become whole together before the next run.
    """

    def __init__(self, seed, clock):
        """An empty programme.

        :param seed: of the solver's random numbers
        :param clock: clock.Clock; when it strikes, what adds to the programme
            raises clock.OutOfTime
        """
        super().__init__()
        self.clock = clock
        self._written = 0
        self._to_be_whole = []
        self.silent()
        self.setOptionValue('threads', 1)
        self.setOptionValue('random_seed', seed)
        self.setOptionValue('mip_rel_gap', 0.0)
        # Without a column HiGHS looks at no row, without an integer it gives
        # no bound.
        self.add_whole(0)

    def add_whole(self, high):
        """A new column for whole numbers from 0 to ``high``."""
        column = self.add_column(high)
        self._to_be_whole.append(column.index)
        return column

    def add_column(self, high):
        """A new column for any numbers from 0 to ``high``."""
        self._look_at_clock()
        return self.addVariable(0, high)

    def add_row(self, comparison):
        """Demand a comparison of two expressions; gives the new row."""
        self._look_at_clock()
        return self.addConstr(comparison)

    def make_whole(self):
        """Tell HiGHS of the columns that are for whole numbers."""
        columns = np.array(self._to_be_whole, np.int32)
        kinds = [highspy.HighsVarType.kInteger] * len(columns)
        self.changeColsIntegrality(len(columns), columns, np.array(kinds))
        self._to_be_whole = []

    def _look_at_clock(self):
        # Writing a large programme takes longer than to solve many others.
        self._written += 1
        if not self._written % _OFTEN:
            self.clock.check()


def run(solver, objective, sense, seconds):
    """Optimise, for some time.

    :param solver: Programme
    :param objective: linear expression
    :param sense: highspy.ObjSense
    :param seconds: how long at most
    :returns: Outcome
    """
    clock = time.monotonic
    end = clock() + seconds
    solver.make_whole()
    solver.setObjective(objective, sense)
    is_large = solver.numVariables >= _LARGE
    outcome = _run(solver, is_large, seconds)
    if is_large and outcome.status in _NOT_TRUSTED:
        outcome = _run(solver, False, end - clock())
    return outcome


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
    return Outcome(
        status=status,
        values=list(solver.getSolution().col_value) if has_solution else [],
        bound=info.mip_dual_bound,
    )

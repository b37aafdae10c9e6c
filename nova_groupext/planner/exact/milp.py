# SPDX-License-Identifier: Apache-2.0
"""HiGHS, set up to be exact and to do the same every time."""

import dataclasses
import enum
import time

import highspy

# Columns from which presolve and the feasibility jump pay: HiGHS spends a
# fixed 5 ms in the latter, more than a small programme takes in all.
_LARGE = 500

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


def new_solver(seed):
    """An empty programme."""
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue('threads', 1)
    solver.setOptionValue('random_seed', seed)
    solver.setOptionValue('mip_rel_gap', 0.0)
    # Without a column HiGHS looks at no row, without an integer it gives no
    # bound.
    solver.addIntegral(0, 0)
    return solver


def run(solver, objective, sense, seconds):
    """Optimise, for some time.

    :param objective: linear expression
    :param sense: highspy.ObjSense
    :param seconds: how long at most
    :returns: Outcome
    """
    clock = time.monotonic
    end = clock() + seconds
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

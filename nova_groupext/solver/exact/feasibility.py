# SPDX-License-Identifier: Apache-2.0
"""The feasibility model: the exact program without an objective."""

import dataclasses

from nova_groupext.solver import tuning
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Result of a search: a plan, a proof of infeasibility, or neither.

    :ivar plan: a feasible one
    :ivar is_infeasible: whether it is proved that there is no plan
    :ivar stage: stage that found the result: 'greedy', 'repair', 'restricted'
        or 'full'
    :ivar best_partial_plan: best partial plan, lacks required members
    """

    plan: violations.Plan | None = None
    is_infeasible: bool = False
    stage: str = 'full'
    best_partial_plan: violations.Plan | None = None


def has_time_for(assignments: int, budget: time_budget.TimeBudget) -> bool:
    """Check whether half of the time suffices for building a program.

    :param assignments: number of (equivalence class, host) pairs
    """
    return assignments * tuning.SECONDS_PER_ASSIGNMENT < budget.remaining() / 2


def solve(
    problem: problems.Problem, budget: time_budget.TimeBudget
) -> Verdict:
    """Find any feasible plan, or prove that there is none."""
    if not budget.remaining():
        return Verdict()
    # The solver is slow to import, and construction often makes it needless.
    from nova_groupext.solver.exact import milp
    from nova_groupext.solver.exact import objectives

    try:
        exact = objectives.ExactSolver(problem, budget)
        result = exact.find_any()
    except time_budget.OutOfTime:
        return Verdict()
    return Verdict(exact.plan, result.status is milp.Status.INFEASIBLE)

# SPDX-License-Identifier: Apache-2.0
"""The feasibility model: the exact program without an objective."""

import dataclasses

from nova_groupext.solver import tuning
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.assumptions import Assumption


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Result of a search: a plan, a proof of infeasibility, or neither.

    :ivar plan: a feasible one
    :ivar is_infeasible: whether it is proved that there is no plan
    :ivar stage: step that found the result: 'greedy', 'partial', 'repair',
        'restricted', 'full', 'bounds', 'subproblem' or 'policy-conflict'
    :ivar assumed: assumptions that are proved infeasible, None for all
    :ivar best_partial_plan: best partial plan, lacks required members
    """

    plan: violations.Plan | None = None
    is_infeasible: bool = False
    stage: str = 'full'
    assumed: frozenset[Assumption] | None = None
    best_partial_plan: violations.Plan | None = None

    @property
    def is_final(self) -> bool:
        """True for a plan or a proof."""
        return self.plan is not None or self.is_infeasible


def has_time_for(variables: int, budget: time_budget.TimeBudget) -> bool:
    """Check whether half of the time suffices before a program is solved.

    :param variables: number of (equivalence class, host) pairs
    """
    return variables * tuning.SECONDS_PER_VARIABLE < budget.remaining() / 2


def solve(
    problem: problems.Problem,
    budget: time_budget.TimeBudget,
    *,
    keeps_current: bool = False,
    proof: Proof = Proof.CONFIRMED,
) -> Verdict:
    """Find any feasible plan, or prove that there is none.

    :param keeps_current: see ExactSolver.find_any()
    :param proof: need of a proof that there is none
    """
    if not budget.remaining():
        return Verdict()
    # The solver is slow to import, and construction often makes it needless.
    from nova_groupext.solver.exact import milp
    from nova_groupext.solver.exact import objectives

    try:
        exact = objectives.ExactSolver(problem, budget)
        result = exact.find_any(keeps_current=keeps_current, proof=proof)
    except time_budget.OutOfTime:
        return Verdict()
    return Verdict(exact.plan, result.status is milp.Status.INFEASIBLE)

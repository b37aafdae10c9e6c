# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that are cheap enough to precede any search.

Bounds compare required members with capacity. Member sets that need much of
their capacity are solved as small subproblems, with the members that policies
tie to them: a small one is quickly decided, where the whole problem would take
minutes. Policies that may contradict one another are checked with unlimited
capacity.
"""

from typing import NamedTuple

from nova_groupext.solver import bounds
from nova_groupext.solver import tuning
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.proofs import suspects


class Proof(NamedTuple):
    """Assumptions that have no plan by themselves.

    :ivar stage: method: 'bounds', 'subproblem' or 'policy-conflict'
    """

    assumed: frozenset[Assumption]
    stage: str


def find(
    problem: problems.Problem, budget: time_budget.TimeBudget
) -> Proof | None:
    """Search for a proof that there is no plan."""
    arrays = host_arrays.HostArrays(problem)
    proof, shares, _ = bounds.analyse(problem, arrays)
    if proof is not None:
        return Proof(proof, 'bounds')
    tight = [
        path for path, share in shares.items() if share >= tuning.TIGHT_SHARE
    ]
    tight.sort(key=lambda path: (-shares[path], path))
    tight = tight[: tuning.MAX_SUSPECTS]
    for assumed in suspects.neighbourhoods(problem, tight):
        subproblem = assumptions.restrict_to(problem, assumed)
        if _is_infeasible_subproblem(subproblem, arrays, budget):
            return Proof(assumed, 'subproblem')
    for assumed in suspects.conflicting_pairs(problem)[: tuning.MAX_SUSPECTS]:
        if is_contradictory(assumptions.restrict_to(problem, assumed), budget):
            return Proof(assumed, 'policy-conflict')
    return None


def is_contradictory(
    problem: problems.Problem,
    budget: time_budget.TimeBudget,
    is_suspect: bool = False,
) -> bool:
    """Check whether a problem of few members is proved infeasible.

    Capacity is unlimited here, so False does not imply a plan.

    :param is_suspect: check even if no pair of policies may conflict
    """
    if len(problem.class_of) > tuning.MAX_CONTRADICTION_MEMBERS:
        return False
    if not is_suspect and not suspects.conflicting_pairs(problem):
        return False
    return _is_infeasible(
        capacity_relaxation.relax_capacity(problem),
        budget,
        tuning.CONTRADICTION_SECONDS,
    )


def _is_infeasible_subproblem(
    problem: problems.Problem,
    arrays: host_arrays.HostArrays,
    budget: time_budget.TimeBudget,
) -> bool:
    proof, _, reduced = bounds.analyse(problem, arrays)
    return proof is not None or _is_infeasible(
        reduced, budget, tuning.SUSPECT_SECONDS
    )


def _is_infeasible(
    problem: problems.Problem, budget: time_budget.TimeBudget, seconds: float
) -> bool:
    """Check whether the integer program proves infeasibility in some time."""
    seconds = min(seconds, budget.remaining() * tuning.SUSPECT_SHARE)
    return feasibility.solve(problem, budget.slice(seconds)).is_infeasible

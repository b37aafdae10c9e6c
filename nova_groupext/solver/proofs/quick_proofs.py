# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that are cheaper than the whole problem.

Member sets that need much of their capacity are solved as small subproblems,
with the members that policies tie to them: a small one is quickly decided,
where the whole problem would take minutes. Policies that may contradict one
another are checked with unlimited capacity.
"""

from collections.abc import Mapping

from nova_groupext.solver import bounds
from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.feasibility import Verdict
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.proofs import suspects


def find(
    problem: problems.Problem,
    shares: Mapping[Path, float],
    budget: time_budget.TimeBudget,
) -> Verdict:
    """Search for a proof that there is no plan.

    :param shares: of bounds.Analysis
    :returns: without a plan
    """
    tight = [
        path for path, share in shares.items() if share >= tuning.TIGHT_SHARE
    ]
    tight.sort(key=lambda path: (-shares[path], path))
    tight = tight[: tuning.MAX_SUSPECTS]
    for assumed in suspects.neighbourhoods(problem, tight):
        part = assumptions.restrict_to(problem, assumed)
        reduced = bounds.analyse(part).reduced
        if _is_infeasible(reduced, budget, tuning.SUSPECT_SECONDS):
            return Verdict(None, True, 'subproblem', assumed)
    for assumed in suspects.conflicting_pairs(problem)[: tuning.MAX_SUSPECTS]:
        if is_contradictory(assumptions.restrict_to(problem, assumed), budget):
            return Verdict(None, True, 'policy-conflict', assumed)
    return Verdict()


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


def _is_infeasible(
    problem: problems.Problem, budget: time_budget.TimeBudget, seconds: float
) -> bool:
    """Check whether the integer program proves infeasibility in some time."""
    seconds = min(seconds, budget.remaining() * tuning.SUSPECT_SHARE)
    return feasibility.solve(
        problem, budget.slice(seconds), proof=Proof.EXPECTED
    ).is_infeasible

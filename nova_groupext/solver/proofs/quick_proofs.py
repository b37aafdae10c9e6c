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
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.proofs import capacity_relaxation
from nova_groupext.solver.proofs import suspects

# Share of its capacity from which a member set is solved as a subproblem.
_MUCH = 0.25

# Limit on subproblems, and on pairs of policies.
_MOST_PARTS = 12

# Seconds for a subproblem and for a capacity relaxation, at most; and the
# share of the remaining time that either may use.
_SLICE = 1.0
_SKETCH_SLICE = 5.0
_SHARE = 0.1

# Limit on members for a capacity relaxation.
_MOST_MEMBERS = 50


class Proof(NamedTuple):
    """Assumptions that have no plan by themselves.

    :ivar tags: frozenset of assumptions
    :ivar stage: method: 'bounds', 'part' (a subproblem) or 'policies'
    """

    tags: frozenset
    stage: str


def find(problem, budget):
    """Search for a proof that there is no plan.

    :param problem: problems.Problem
    :param budget: time_budget.TimeBudget
    :returns: Proof or None
    """
    cloud = bounds.HostArrays(problem)
    tags, shares, _ = bounds.look(problem, cloud)
    if tags is not None:
        return Proof(tags, 'bounds')
    tight = [path for path, share in shares.items() if share >= _MUCH]
    tight.sort(key=lambda path: (-shares[path], path))
    for part in suspects.around(problem, tight[:_MOST_PARTS]):
        if _is_impossible(
            assumptions.restrict_to(problem, part), cloud, budget
        ):
            return Proof(part, 'part')
    for part in suspects.odd(problem)[:_MOST_PARTS]:
        if is_contradiction(assumptions.restrict_to(problem, part), budget):
            return Proof(part, 'policies')
    return None


def is_contradiction(problem, budget, is_sure=False):
    """Check whether a problem of few members is proved infeasible.

    Capacity is unlimited here, so False does not imply a plan.

    :param is_sure: check even if no pair of policies looks conflicting
    """
    if len(problem.class_of) > _MOST_MEMBERS:
        return False
    if not is_sure and not suspects.odd(problem):
        return False
    return _ask(
        capacity_relaxation.relax_capacity(problem), budget, _SKETCH_SLICE
    )


def _is_impossible(problem, cloud, budget):
    tags, _, narrowed = bounds.look(problem, cloud)
    return tags is not None or _ask(narrowed, budget, _SLICE)


def _ask(problem, budget, seconds):
    part = budget.slice(min(seconds, budget.left() * _SHARE))
    return feasibility.ask(problem, part).is_impossible

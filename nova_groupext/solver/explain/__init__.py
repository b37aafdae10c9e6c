# SPDX-License-Identifier: Apache-2.0
"""Explanation of a refusal: a conflict, its reason, and relaxations.

``minimal_conflict`` finds few assumptions (policies, required members) without
a plan, ``reasons`` the obstacle and ``relax`` the changes that help; these
three query ``feasibility_oracle``. ``sentences`` words the results.
"""

import dataclasses

from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import reasons
from nova_groupext.solver.explain import relax
from nova_groupext.solver.explain import sentences
from nova_groupext.solver.model import assumptions

# Share of the time for the conflict and its reason, before relaxations.
_CONFLICT_SHARE = 0.6

# Seconds for relaxations: fixed, per member, per pair of member and host.
_SECONDS = 1.5, 6e-3, 3e-7


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Content of a refused answer, under the names of the answer file.

    :ivar conflict: policies and member sets that exclude one another
    :ivar minimal: whether every item of the conflict is necessary
    :ivar reason: stable code, and a sentence for the group's owner
    :ivar relaxations: changes that make the problem feasible
    :ivar is_cut_short: whether more time might improve any of these
    """

    conflict: list
    minimal: bool
    reason: dict
    relaxations: list
    is_cut_short: bool


def refusals(problem, budget, assumed=None):
    """Yield the explanation of a problem that is proved infeasible.

    :param problem: problems.Problem
    :param budget: time_budget.TimeBudget
    :param assumed: assumptions that are proved infeasible; all if omitted
    :returns: generator of two Refusals: without, then with relaxations
    """
    oracle = feasibility_oracle.Oracle(
        problem, budget.slice(budget.remaining() * _CONFLICT_SHARE)
    )
    conflict = minimal_conflict.find(
        oracle, assumed or assumptions.of_problem(problem)
    )
    code = reasons.find(oracle, conflict)
    refusal = Refusal(
        conflict=[sentences.item(problem, each) for each in conflict.assumed],
        minimal=conflict.is_minimal,
        reason={
            'code': code,
            'text': sentences.reason(problem, conflict.assumed, code),
        },
        relaxations=[],
        is_cut_short=True,
    )
    yield refusal
    oracle.budget = budget.slice(_relaxation_seconds(problem))
    relaxations = relax.find_corrections(oracle, conflict)
    yield dataclasses.replace(
        refusal,
        relaxations=relaxations,
        is_cut_short=oracle.is_cut_short,
    )


def _relaxation_seconds(problem):
    """Return the time for relaxations, limited because the tenant waits."""
    members = len(problem.topology.members)
    fixed, per_member, per_pair = _SECONDS
    return fixed + (per_member + per_pair * len(problem.hosts)) * members

# SPDX-License-Identifier: Apache-2.0
"""Explanation of a refusal: a conflict, its reason, and relaxations.

``minimal_conflict`` finds few assumptions (policies, required members) without
a plan, ``reasons`` the obstacle and ``relax`` the changes that help; these
three query ``feasibility_oracle``. ``conflict_summary`` and ``sentences`` word
the results.
"""

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses

from nova_groupext.solver import tuning
from nova_groupext.solver.explain import conflict_summary
from nova_groupext.solver.explain import feasibility_oracle
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import reasons
from nova_groupext.solver.explain import relax
from nova_groupext.solver.explain import sentences
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget


def refusals(
    problem: problems.Problem,
    budget: time_budget.TimeBudget,
    assumed: Collection[assumptions.Assumption] | None = None,
) -> Iterator[answers.Refusal]:
    """Yield the explanation of a problem that is proved infeasible.

    The first refusal is without relaxations, the second one with them.

    :param assumed: assumptions that are proved infeasible; all if omitted
    """
    # No proof depends on who stays; it would only divide the classes.
    problem = dataclasses.replace(problem, keeps_current=False)
    oracle = feasibility_oracle.Oracle(
        problem, budget.slice(budget.remaining() * tuning.CONFLICT_SHARE)
    )
    conflict = minimal_conflict.find(
        oracle, assumed or assumptions.of_problem(problem)
    )
    code = reasons.find(oracle, conflict)
    items, are_single = conflict_summary.of(problem, conflict.assumed)
    refusal = answers.Refusal(
        conflict=items,
        minimal=conflict.is_minimal and are_single,
        reason={'code': code, 'text': sentences.reason(items, code)},
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


def _relaxation_seconds(problem: problems.Problem) -> float:
    """Return the time for relaxations, limited because the tenant waits."""
    members = len(problem.topology.members)
    fixed, per_member, per_pair = tuning.RELAXATION_SECONDS
    return fixed + (per_member + per_pair * len(problem.hosts)) * members

# SPDX-License-Identifier: Apache-2.0
"""Completion of partial plans."""

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import partial_plan
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.time_budget import TimeBudget
from nova_groupext.solver.repair import reinsertion


def complete(
    problem: problems.Problem,
    plan: violations.Plan,
    budget: TimeBudget,
    share: float,
) -> violations.Plan | None:
    """Search for a plan that completes another; prove nothing.

    Some constructions come first: they take less time than moving many
    members.

    :param plan: plan of some members, feasible except for the others
    :param share: share of the time that remains after the constructions
    :returns: None for a small problem, left to find()
    """
    if not problem.hosts or not problem.class_of.keys() - plan.placement:
        return None
    greedy = squeaky_wheel.SqueakyWheel(problem)
    if greedy.variable_count <= tuning.SMALL_VARIABLES:
        return None
    for _ in range(tuning.CONSTRUCTIONS):
        new_plan = greedy.run_iteration(respects_soft=False, budget=budget)
        if new_plan is not None or not budget.remaining():
            return new_plan
    greedy.best_partial = partial_plan.PartialPlan.of(problem, plan)
    repaired: violations.Plan | None = reinsertion.Reinsertion(greedy).run(
        budget.slice(budget.remaining() * share)
    )
    return repaired

# SPDX-License-Identifier: Apache-2.0
"""Lower bound of the soft cost: the least cost of each policy alone.

A policy costs at least what it costs if only its members are placed, and no
other soft policy counts. So the sum over all policies bounds the cost of every
plan, whatever number of members it places.
"""

import dataclasses
import fractions

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base


def find(
    problem: problems.Problem,
    plan: violations.Plan,
    budget: time_budget.TimeBudget,
) -> fractions.Fraction:
    """Return a lower bound of the soft cost of all plans.

    :param plan: a feasible one; a policy without a cost in it has none alone
    """
    bound = fractions.Fraction(0)
    costs = violations.costs(problem, plan.placement)
    # Large ones get the time that small ones do not use.
    by_size = sorted(
        (policy for policy in costs if _is_least_alone(policy)),
        key=lambda policy: policy.size,
    )
    for number, policy in enumerate(by_size):
        if not budget.remaining():
            break
        seconds = budget.remaining() / (len(by_size) - number)
        bound += _least_cost(problem, policy, plan, budget.attempt(seconds))
    return bound


def _is_least_alone(policy: base.Policy) -> bool:
    """Check that members of no other policy can make one cheaper."""
    return policy.is_monotone or not policy.is_exclusive


def _least_cost(
    problem: problems.Problem,
    policy: base.Policy,
    plan: violations.Plan,
    budget: time_budget.TimeBudget,
) -> fractions.Fraction:
    """Return a lower bound of the cost of one policy."""
    # The solver is slow to import, and most plans of small groups are perfect.
    from nova_groupext.solver.exact import objectives

    part = _only(problem, policy)
    classes = len(equivalence.equivalence_classes(part))
    if not feasibility.has_time_for(classes * len(part.hosts), budget):
        return fractions.Fraction(0)
    try:
        exact = objectives.ExactSolver(part, budget)
        exact.start_from(plan.only(part.class_of.keys()))
        exact.minimise_cost()
    except time_budget.OutOfTime:
        return fractions.Fraction(0)
    return exact.bound


def _only(problem: problems.Problem, policy: base.Policy) -> problems.Problem:
    """Return the problem of one soft policy and its members.

    Other members may be what meets a strict policy that is not monotone, so
    such a policy counts only if it has none of them.
    """
    others = problem.movable - policy.paths
    policies = tuple(
        each
        for each in problem.topology.policies
        if each is policy
        or (
            each.strict
            and _is_least_alone(each)
            and (each.is_monotone or others.isdisjoint(each.paths))
        )
    )
    topology = dataclasses.replace(problem.topology, policies=policies)
    return subproblem.remove_members(
        dataclasses.replace(problem, topology=topology, keeps_current=False),
        others,
    )

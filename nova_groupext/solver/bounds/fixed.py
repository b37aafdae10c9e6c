# SPDX-License-Identifier: Apache-2.0
"""Policy violations by pinned members alone."""

from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import violations


def find_violated(problem):
    """Return the strict policies that pinned members violate irreparably.

    :returns: list of assumptions.PolicyAssumption
    """
    if not problem.pinned:
        return []
    violated = [
        assumptions.of_policy(policy)
        for policy in problem.topology.policies
        if policy.strict and _is_violated(problem, policy)
    ]
    return list(dict.fromkeys(violated))


def _is_violated(problem, policy):
    return None in violations.count(problem, policy, problem.pinned) or (
        policy.is_monotone
        and violations.amount(problem, policy, problem.pinned) > 0
    )

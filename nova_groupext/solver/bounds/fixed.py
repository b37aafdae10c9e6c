# SPDX-License-Identifier: Apache-2.0
"""Policy violations by pinned members alone."""

from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base


def find_violated(
    problem: problems.Problem,
) -> list[assumptions.PolicyAssumption]:
    """Return the strict policies that pinned members violate irreparably."""
    if not problem.pinned:
        return []
    violated = [
        assumptions.of_policy(policy)
        for policy in problem.topology.policies
        if policy.strict and _is_violated(problem, policy)
    ]
    return list(dict.fromkeys(violated))


def _is_violated(problem: problems.Problem, policy: base.Policy) -> bool:
    return None in violations.count(problem, policy, problem.pinned) or (
        policy.is_monotone
        and violations.amount(problem, policy, problem.pinned) > 0
    )

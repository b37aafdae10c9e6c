# SPDX-License-Identifier: Apache-2.0
"""Policy violations by pinned members alone."""

from nova_groupext.solver.model import assumptions
from nova_groupext.solver.policies import violations

# Placing more members can repair violations of these types.
_MENDABLE = ('spread', 'survive')


def broken(problem):
    """Return the strict policies that pinned members violate irreparably.

    :returns: list of assumptions.PolicyAssumption
    """
    if not problem.pinned:
        return []
    found = [
        assumptions.rule(policy)
        for policy in problem.topology.policies
        if policy.strict and _is_broken(problem, policy)
    ]
    return list(dict.fromkeys(found))


def _is_broken(problem, policy):
    return None in violations.count(problem, policy, problem.pinned) or (
        policy.type not in _MENDABLE
        and violations.amount(problem, policy, problem.pinned) > 0
    )

# SPDX-License-Identifier: Apache-2.0
"""Merging of equivalent policies, so that the search handles each once."""

import dataclasses

from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base


def merge_equivalent(problem: problems.Problem) -> problems.Problem:
    """Return the problem with equivalent policies merged.

    Every plan keeps its feasibility and its cost.
    """
    equivalent: dict[tuple[bool, base.Policy], list[base.Policy]] = {}
    for policy in problem.topology.policies:
        key = policy.strict, policy.violation_key
        equivalent.setdefault(key, []).append(policy)
    policies = tuple(map(_merge, equivalent.values()))
    if len(policies) == len(problem.topology.policies):
        return problem
    topology = dataclasses.replace(problem.topology, policies=policies)
    return dataclasses.replace(problem, topology=topology)


def _merge(policies: list[base.Policy]) -> base.Policy:
    """Return the first policy, with the unit cost of all if it is soft."""
    first = policies[0]
    if first.strict or len(policies) == 1:
        return first
    return first.with_unit_cost(sum(policy.unit_cost for policy in policies))

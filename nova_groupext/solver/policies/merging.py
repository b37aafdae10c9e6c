# SPDX-License-Identifier: Apache-2.0
"""Merging of equivalent policies, so that the search handles each once."""

import dataclasses

from nova_groupext.solver.policies import violations


def merged(problem):
    """Return the problem with equivalent policies merged.

    Every plan keeps its feasibility and its cost.
    """
    alike = {}
    for policy in problem.topology.policies:
        key = policy.strict, violations.meaning(policy)
        alike.setdefault(key, []).append(policy)
    policies = tuple(map(_one, alike.values()))
    if len(policies) == len(problem.topology.policies):
        return problem
    tree = dataclasses.replace(problem.topology, policies=policies)
    return dataclasses.replace(problem, topology=tree)


def _one(policies):
    """Return the first policy, with the unit cost of all if it is soft."""
    first = policies[0]
    if first.strict or len(policies) == 1:
        return first
    price = sum(map(violations.unit_cost, policies))
    return dataclasses.replace(first, weight=price, bandwidth=1)

# SPDX-License-Identifier: Apache-2.0
"""Policies that ask for the same, as one: the search has to see it once."""

import dataclasses

from nova_groupext.planner import rules


def merged(problem):
    """The same problem, with one policy instead of several that are alike.

    Plans are as lawful, and cost as much, as before.
    """
    alike = {}
    for policy in problem.topology.policies:
        key = policy.strict, rules.meaning(policy)
        alike.setdefault(key, []).append(policy)
    policies = tuple(map(_one, alike.values()))
    if len(policies) == len(problem.topology.policies):
        return problem
    tree = dataclasses.replace(problem.topology, policies=policies)
    return dataclasses.replace(problem, topology=tree)


def _one(policies):
    """The first of some, at the price of all."""
    first = policies[0]
    if first.strict or len(policies) == 1:
        return first
    price = sum(map(rules.price, policies))
    return dataclasses.replace(first, weight=price, bandwidth=1)

# SPDX-License-Identifier: Apache-2.0
"""What members that are servers already break by themselves."""

from nova_groupext.planner import rules
from nova_groupext.planner import tags

# More members can mend these.
_MENDABLE = ('spread', 'survive')


def broken(problem):
    """Strict policies that pinned members break, whatever comes to them.

    :returns: list of tags.Rule
    """
    if not problem.pinned:
        return []
    found = [
        tags.rule(policy)
        for policy in problem.topology.policies
        if policy.strict and _is_broken(problem, policy)
    ]
    return list(dict.fromkeys(found))


def _is_broken(problem, policy):
    return None in rules.count(problem, policy, problem.pinned) or (
        policy.type not in _MENDABLE
        and rules.breach(problem, policy, problem.pinned) > 0
    )

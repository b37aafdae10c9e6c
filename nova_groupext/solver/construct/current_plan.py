# SPDX-License-Identifier: Apache-2.0
"""The part of a current placement that can stay as it is."""

from collections.abc import Mapping

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base


def find(
    problem: problems.Problem, budget: time_budget.TimeBudget
) -> violations.Plan:
    """Return the plan of the members that can stay on their current hosts.

    :returns: feasible except for the members that it leaves out, and for
        policies that these may meet
    :raises OutOfTime:
    """
    placement = {**problem.may_stay, **problem.pinned}
    for policy in problem.topology.policies:
        budget.check()
        if policy.strict and policy.is_monotone:
            placement = _keep_policy(problem, policy, placement, budget)
    return _keep_capacity(problem, placement)


def _keep_policy(
    problem: problems.Problem,
    policy: base.Policy,
    placement: dict[Path, HostId],
    budget: time_budget.TimeBudget,
) -> dict[Path, HostId]:
    """Leave out members until a policy is met, if more cannot meet it.

    Members of the domains with the most members stay.
    """
    if not violations.is_violated(problem, policy, placement):
        return placement
    counts = violations.count(problem, policy, placement)
    covered = [
        path
        for path in policy.members
        if path in placement and path in problem.movable
    ]
    covered.sort(
        key=lambda path: (
            -counts[problem.domain(placement[path], policy.scope)],
            path,
        )
    )
    kept = {path: placement[path] for path in placement.keys() - covered}
    waiting = [covered]
    while waiting:
        budget.check()
        paths = waiting.pop()
        more = {**kept, **{path: placement[path] for path in paths}}
        if not violations.is_violated(problem, policy, more):
            kept = more
        elif len(paths) > 1:
            # Some of them may stay: the first half is tried first.
            half = len(paths) // 2
            waiting += paths[half:], paths[:half]
    return kept


def _keep_capacity(
    problem: problems.Problem, placement: Mapping[Path, HostId]
) -> violations.Plan:
    """Leave out the last members of hosts that are too small."""
    kept = violations.Plan({}, {})
    free: dict[HostId, dict[str, int]] = {}
    for path, host in sorted(placement.items()):
        if path in problem.pinned:
            kept.placement[path] = host
            continue
        left = free.setdefault(host, dict(problem.hosts[host].free))
        member_class = problem.class_of[path]
        for number, request in enumerate(member_class.options(host)):
            if all(n <= left.get(each, 0) for each, n in request.items()):
                for each, amount in request.items():
                    left[each] = left.get(each, 0) - amount
                kept.placement[path] = host
                if host in member_class.alternatives:
                    kept.alternative[path] = number
                break
    return kept

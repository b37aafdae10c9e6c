# SPDX-License-Identifier: Apache-2.0
"""Why there is no plan."""

import dataclasses

from nova_groupext.planner import feasible
from nova_groupext.planner import problem as problems
from nova_groupext.planner import rules

# More members can mend these.
_MENDABLE = ('spread', 'survive')


def broken_by_pins(problem):
    """Strict policies that pinned members break, whatever comes to them."""
    return [
        policy
        for policy in _strict(problem)
        if None in rules.count(problem, policy, problem.pinned)
        or (
            policy.type not in _MENDABLE
            and rules.breach(problem, policy, problem.pinned)
        )
    ]


def refusal(problem, clock):
    """The reasons of a problem that is proved to have no plan.

    :returns: policies and member sets that exclude one another
    """
    alone = [
        policy
        for policy in _strict(problem)
        if _is_impossible(_only(problem, policy), clock)
    ]
    if alone:
        return alone, []
    return _strict(problem), [
        stem
        for stem in problem.topology.stems
        if stem.min_count > sum(m.path in problem.pinned for m in stem.members)
    ]


def _strict(problem):
    return [policy for policy in problem.topology.policies if policy.strict]


def _only(problem, policy):
    """One policy and the pins; nobody has to come and everybody fits."""
    anywhere = problems.MemberClass(
        request={},
        hosts=frozenset(problem.hosts),
        scores={},
        alternatives={},
    )
    stems = tuple(
        dataclasses.replace(stem, min_count=0)
        for stem in problem.topology.stems
    )
    return dataclasses.replace(
        problem,
        classes=dict.fromkeys(problem.classes, anywhere),
        topology=dataclasses.replace(
            problem.topology, stems=stems, policies=(policy,)
        ),
    )


def _is_impossible(problem, clock):
    return feasible.find(problem, clock).is_impossible

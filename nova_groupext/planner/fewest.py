# SPDX-License-Identifier: Apache-2.0
"""As few moves as possible after which every strict policy is kept again.

That is a problem like any other: everybody is worth 1 where it is and nothing
elsewhere, and nothing else counts.
"""

import collections
import dataclasses

from nova_groupext.planner import subproblem


def problem_of(problem, home, movable):
    """The problem of moving as few members as possible.

    :param problem: problem.Problem; what its hosts have free is free besides
        what the members have
    :param home: {path: host id} of all members that have a place; the others
        are left out
    :param movable: paths of those that may move
    :returns: problem.Problem; a plan of it that prefers best moves the fewest
    """
    problem = subproblem.all_due(
        subproblem.without(
            problem, problem.class_of.keys() - home.keys(), are_coming=False
        )
    )
    free = collections.defaultdict(collections.Counter)
    classes, class_of = dict(problem.classes), {}
    for member in problem.topology.members:
        path = member.path
        # No class of the problem has a name like this.
        name = class_of[path] = (member.spec['class'], home[path])
        classes[name] = _staying(problem.class_of[path], home[path])
        if path in movable:
            free[home[path]].update(problem.class_of[path].request)
    problem = subproblem.reclassified(problem, classes, class_of)
    tree = problem.topology
    return dataclasses.replace(
        problem,
        hosts={
            host_id: dataclasses.replace(
                host, free=dict(free[host_id] + collections.Counter(host.free))
            )
            if host_id in free
            else host
            for host_id, host in problem.hosts.items()
        },
        topology=dataclasses.replace(
            tree, policies=tuple(p for p in tree.policies if p.strict)
        ),
        pinned={p: host for p, host in home.items() if p not in movable},
    )


def moves(answer, home):
    """Return {path: host id} of those that a plan moves."""
    return {
        path: host
        for path, host in answer.placement.items()
        if host != home[path]
    }


def _staying(member_class, home):
    """A class of members that had rather stay at home."""
    return dataclasses.replace(
        member_class,
        hosts=member_class.hosts | {home},
        scores={home: 1},
        alternatives={
            **member_class.alternatives,
            home: [member_class.request],
        },
    )

# SPDX-License-Identifier: Apache-2.0
"""Plans that restore every strict policy with the minimum number of moves.

An ordinary problem expresses them: each member scores 1 on its present host
and 0 elsewhere, and has no other scores or soft policies.
"""

import collections
import dataclasses

from nova_groupext.solver.model import subproblem


def problem_of(problem, home, movable):
    """Return the problem of moving as few members as possible.

    :param problem: problems.Problem; the free amounts of its hosts exclude
        what the members use now
    :param home: {path: host id} of all placed members; omits the others
    :param movable: paths of the members that may move
    :returns: problems.Problem; its plan with the best preference moves fewest
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
    """Return {path: new host id} of the members that a plan moves."""
    return {
        path: host
        for path, host in answer.placement.items()
        if host != home[path]
    }


def _staying(member_class, home):
    """Return a member class that prefers its present host."""
    return dataclasses.replace(
        member_class,
        hosts=member_class.hosts | {home},
        scores={home: 1},
        alternatives={
            **member_class.alternatives,
            home: [member_class.request],
        },
    )

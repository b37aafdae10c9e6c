# SPDX-License-Identifier: Apache-2.0
"""As few moves as possible after which every strict policy is kept again.

That is a problem like any other: everybody is worth 1 where it is and nothing
elsewhere, and nothing else counts.
"""

import collections
import dataclasses


def problem_of(problem, home, movable):
    """The problem of moving as few members as possible.

    :param problem: problem.Problem; what its hosts have free is free besides
        what the members have
    :param home: {path: host id} of all members that have a place; the others
        are left out
    :param movable: paths of those that may move
    :returns: problem.Problem; a plan of it that prefers best moves the fewest
    """
    free = collections.defaultdict(collections.Counter)
    classes, members = dict(problem.classes), {}
    for member in problem.topology.members:
        path = member.path
        if path not in home:
            continue
        # No class of the problem has a name like this.
        name = (member.spec['class'], home[path])
        classes[name] = _staying(problem.class_of[path], home[path])
        members[path] = dataclasses.replace(member, spec={'class': name})
        if path in movable:
            free[home[path]].update(problem.class_of[path].request)
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
        classes=classes,
        topology=_of(problem.topology, members),
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


def _of(tree, members):
    """A Topology of some members, all due, and its strict policies."""
    stems = []
    for stem in tree.stems:
        some = tuple(
            members[m.path] for m in stem.members if m.path in members
        )
        if some:
            size = len(some)
            stems.append(
                dataclasses.replace(
                    stem, members=some, count=size, min_count=size
                )
            )
    policies = [_over(policy, members) for policy in tree.policies]
    return dataclasses.replace(
        tree,
        stems=tuple(stems),
        members=tuple(members.values()),
        policies=tuple(policy for policy in policies if policy is not None),
    )


def _over(policy, members):
    """A strict policy over some members; None where it asks for nothing."""
    sides = tuple(
        tuple(path for path in side if path in members)
        for side in policy.sides
    )
    if not policy.strict or not all(sides):
        return None
    return dataclasses.replace(policy, sides=sides)

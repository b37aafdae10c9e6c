# SPDX-License-Identifier: Apache-2.0
"""Smaller problems whose plans are plans of the problem they come from."""

import collections
import dataclasses

from nova_groupext.planner import rules


def on_hosts(problem, hosts):
    """The problem with fewer hosts to choose from.

    A plan of it is a plan of the problem; that it has none proves nothing.

    :param problem: problem.Problem
    :param hosts: units.Unit -> ids of the hosts that it may use
    :returns: problem.Problem
    """
    classes = dict(problem.classes)
    class_of = {}
    for number, (unit, some) in enumerate(hosts.items()):
        # No class of the problem has a name like this.
        name = (number,)
        may = unit.member_class.hosts.intersection(some)
        classes[name] = dataclasses.replace(unit.member_class, hosts=may)
        class_of.update(dict.fromkeys(unit.members, name))
    return reclassified(problem, classes, class_of)


def apart(problem, member_classes):
    """The problem in which some members have needs of their own.

    :param member_classes: {path: problem.MemberClass}
    :returns: problem.Problem
    """
    # No class of the problem has a name like these.
    class_of = {path: (path,) for path in member_classes}
    own = {class_of[path]: each for path, each in member_classes.items()}
    return reclassified(problem, {**problem.classes, **own}, class_of)


def reclassified(problem, classes, class_of):
    """The problem with other classes.

    :param class_of: {path: name of a class} of the members that change theirs
    """
    members = {
        member.path: dataclasses.replace(
            member, spec={'class': class_of[member.path]}
        )
        if member.path in class_of
        else member
        for member in problem.topology.members
    }
    stems = tuple(
        dataclasses.replace(
            stem, members=tuple(members[m.path] for m in stem.members)
        )
        for stem in problem.topology.stems
    )
    return dataclasses.replace(
        problem,
        classes=classes,
        topology=dataclasses.replace(
            problem.topology, stems=stems, members=tuple(members.values())
        ),
    )


def without(problem, paths, *, are_coming=True):
    """The problem without some members, as if they were not described.

    A plan of it is not yet one of the problem, but may grow into one.

    :param paths: paths of members that are not pinned
    :param are_coming: whether they will be among those that survive
    :returns: problem.Problem
    """
    tree = problem.topology
    stems = []
    for stem in tree.stems:
        stay = tuple(m for m in stem.members if m.path not in paths)
        gone = stem.count - len(stay)
        least = max(0, stem.min_count - gone)
        if stay:
            stems.append(
                dataclasses.replace(
                    stem, members=stay, count=len(stay), min_count=least
                )
            )
    policies = [
        _without(policy, paths, are_coming) for policy in tree.policies
    ]
    smaller = dataclasses.replace(
        tree,
        stems=tuple(stems),
        members=tuple(m for m in tree.members if m.path not in paths),
        policies=tuple(policy for policy in policies if policy is not None),
    )
    return dataclasses.replace(problem, topology=smaller)


def due(problem, paths):
    """The problem of some members, all of which have to be placed.

    :param paths: of these members; all that are pinned are among them
    :returns: problem.Problem
    """
    return all_due(without(problem, problem.class_of.keys() - set(paths)))


def all_due(problem):
    """The problem in which all members have to be placed."""
    tree = problem.topology
    stems = tuple(
        dataclasses.replace(stem, min_count=stem.count) for stem in tree.stems
    )
    return dataclasses.replace(
        problem, topology=dataclasses.replace(tree, stems=stems)
    )


def around(problem, plan, moving):
    """The problem with all but some members of a plan where they are.

    :param plan: a lawful rules.Plan of the problem
    :param moving: paths of members that may move; those that the plan leaves
        out may come in
    :returns: problem.Problem, in which the others are pinned; without the
        policies that it makes no difference to
    """
    staying = {
        path: host
        for path, host in plan.placement.items()
        if path not in moving
    }
    used = collections.defaultdict(collections.Counter)
    for path in staying.keys() - problem.pinned.keys():
        host = staying[path]
        ways = problem.class_of[path].ways(host)
        used[host].update(ways[plan.alternative.get(path, 0)])
    hosts = dict(problem.hosts)
    for host_id, amounts in used.items():
        host = hosts[host_id]
        free = {r: n - amounts[r] for r, n in host.free.items()}
        hosts[host_id] = dataclasses.replace(host, free=free)
    tree = problem.topology
    free = problem.class_of.keys() - staying.keys()
    policies = tuple(
        policy for policy in tree.policies if _concerns(policy, free)
    )
    return dataclasses.replace(
        problem,
        hosts=hosts,
        pinned=staying,
        topology=dataclasses.replace(tree, policies=policies),
    )


def back(plan, part):
    """A plan of around(), with the ways that the pinned members take.

    :param plan: the plan that around() was given
    :param part: a plan of the smaller problem
    :returns: rules.Plan of the problem
    """
    alternative = {
        path: plan.alternative[path]
        for path in part.placement.keys() & plan.alternative.keys()
        if part.placement[path] == plan.placement.get(path)
    }
    return rules.Plan(part.placement, {**alternative, **part.alternative})


def _concerns(policy, paths):
    """Whether a policy may look at some members."""
    return policy.type == 'exclusive' or any(
        not paths.isdisjoint(side) for side in policy.sides
    )


def _without(policy, paths, are_coming):
    """A policy over fewer members, None if one of its sides is empty."""
    sides = tuple(
        tuple(path for path in side if path not in paths)
        for side in policy.sides
    )
    if not all(sides):
        return None
    least = policy.min_members
    if are_coming:
        # They survive too, or the rules refuse them all.
        gone = sum(map(len, policy.sides)) - sum(map(len, sides))
        least = max(1, least - gone)
    return dataclasses.replace(policy, sides=sides, min_members=least)

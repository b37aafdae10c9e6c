# SPDX-License-Identifier: Apache-2.0
"""Problems derived from another one: other hosts, classes or members."""

import collections
import dataclasses

from nova_groupext.solver.policies import violations


def on_hosts(problem, hosts):
    """Return the problem with fewer hosts to choose from.

    Its plans are plans of the problem; its infeasibility proves nothing.

    :param problem: problems.Problem
    :param hosts: equivalence.EquivalenceClass -> ids of its allowed hosts
    :returns: problems.Problem
    """
    classes = dict(problem.classes)
    class_of = {}
    for number, (unit, some) in enumerate(hosts.items()):
        # No class name of a problem file is a tuple.
        name = (number,)
        may = unit.member_class.hosts.intersection(some)
        classes[name] = dataclasses.replace(unit.member_class, hosts=may)
        class_of.update(dict.fromkeys(unit.members, name))
    return reclassified(problem, classes, class_of)


def apart(problem, member_classes):
    """Return the problem with separate classes for some members.

    :param member_classes: {path: problems.MemberClass}
    :returns: problems.Problem
    """
    # No class name of a problem file is a tuple.
    class_of = {path: (path,) for path in member_classes}
    own = {class_of[path]: each for path, each in member_classes.items()}
    return reclassified(problem, {**problem.classes, **own}, class_of)


def reclassified(problem, classes, class_of):
    """Return the problem with other classes.

    :param class_of: {path: name of the new class} of the members that change
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
    """Return the problem without some members, as if never described.

    A plan of the result may be extended to a plan of the problem.

    :param paths: paths of members that are not pinned
    :param are_coming: count them as survivors, since they are placed later
    :returns: problems.Problem
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
    """Return the problem of some members, all of which must be placed.

    :param paths: paths of these members; pinned members stay in any case
    :returns: problems.Problem
    """
    return all_due(without(problem, problem.movable - set(paths)))


def all_due(problem):
    """Return the problem in which all members must be placed."""
    tree = problem.topology
    stems = tuple(
        dataclasses.replace(stem, min_count=stem.count) for stem in tree.stems
    )
    return dataclasses.replace(
        problem, topology=dataclasses.replace(tree, stems=stems)
    )


def around(problem, plan, moving):
    """Return the problem with all but some members fixed as in a plan.

    :param plan: a feasible violations.Plan of the problem
    :param moving: paths of members that may move; members that the plan
        leaves out may be placed, too
    :returns: problems.Problem that pins the other members, without the
        policies that concern no movable member
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
    """Add the pinned members' alternatives to a plan of around().

    :param plan: the plan that around() was given
    :param part: a plan of the smaller problem
    :returns: violations.Plan of the problem
    """
    alternative = {
        path: plan.alternative[path]
        for path in part.placement.keys() & plan.alternative.keys()
        if part.placement[path] == plan.placement.get(path)
    }
    return violations.Plan(part.placement, {**alternative, **part.alternative})


def _concerns(policy, paths):
    """Check whether a policy may depend on some members."""
    return policy.type == 'exclusive' or any(
        not paths.isdisjoint(side) for side in policy.sides
    )


def _without(policy, paths, are_coming):
    """Return a policy over fewer members, None if it covers too few."""
    sides = tuple(
        some
        for side in policy.sides
        if (some := tuple(path for path in side if path not in paths))
    )
    if len(sides) < min(2, len(policy.sides)):
        return None
    least = policy.min_members
    if are_coming:
        # They survive too, else the check of the final plan refuses it.
        gone = sum(map(len, policy.sides)) - sum(map(len, sides))
        least = max(1, least - gone)
    return dataclasses.replace(policy, sides=sides, min_members=least)

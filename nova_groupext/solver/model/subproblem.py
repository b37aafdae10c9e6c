# SPDX-License-Identifier: Apache-2.0
"""Problems derived from another one: other hosts, classes or members."""

from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
import dataclasses

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base


def restrict_hosts(
    problem: problems.Problem,
    hosts: Mapping[equivalence.EquivalenceClass, Iterable[HostId]],
) -> problems.Problem:
    """Return the problem with fewer hosts to choose from.

    Its plans are plans of the problem; its infeasibility proves nothing.

    :param hosts: allowed hosts of each class
    """
    classes = dict(problem.classes)
    class_of: dict[Path, problems.ClassName] = {}
    for number, (eq_class, host_ids) in enumerate(hosts.items()):
        # No class name of a problem file is a tuple.
        name = (number,)
        allowed = eq_class.member_class.hosts.intersection(host_ids)
        classes[name] = dataclasses.replace(
            eq_class.member_class, hosts=allowed
        )
        class_of.update(dict.fromkeys(eq_class.members, name))
    return reclassify(problem, classes, class_of)


def exclude_host(
    problem: problems.Problem,
    class_name: problems.ClassName,
    host_id: HostId,
) -> problems.Problem:
    """Return the problem in which the members of a class avoid a host."""
    old = problem.classes[class_name]
    new = dataclasses.replace(
        old,
        hosts=old.hosts - {host_id},
        scores={h: n for h, n in old.scores.items() if h != host_id},
        alternatives={
            h: options
            for h, options in old.alternatives.items()
            if h != host_id
        },
    )
    classes = {**problem.classes, class_name: new}
    return dataclasses.replace(problem, classes=classes)


def separate_classes(
    problem: problems.Problem,
    member_classes: Mapping[Path, problems.MemberClass],
) -> problems.Problem:
    """Return the problem with separate classes for some members."""
    # No class name of a problem file is a tuple.
    class_of = {path: (path,) for path in member_classes}
    new_classes: dict[problems.ClassName, problems.MemberClass] = {
        class_of[path]: member_class
        for path, member_class in member_classes.items()
    }
    return reclassify(problem, {**problem.classes, **new_classes}, class_of)


def reclassify(
    problem: problems.Problem,
    classes: dict[problems.ClassName, problems.MemberClass],
    class_of: Mapping[Path, problems.ClassName],
) -> problems.Problem:
    """Return the problem with other classes.

    :param class_of: new classes of the members that change
    """
    members = {
        member.path: dataclasses.replace(
            member, spec={'class': class_of[member.path]}
        )
        if member.path in class_of
        else member
        for member in problem.topology.members
    }
    member_sets = tuple(
        dataclasses.replace(
            member_set,
            members=tuple(members[m.path] for m in member_set.members),
        )
        for member_set in problem.topology.member_sets
    )
    return dataclasses.replace(
        problem,
        classes=classes,
        topology=dataclasses.replace(
            problem.topology,
            member_sets=member_sets,
            members=tuple(members.values()),
        ),
    )


def remove_members(
    problem: problems.Problem,
    paths: Container[Path],
    *,
    are_placed_later: bool = True,
) -> problems.Problem:
    """Return the problem without some members, as if not described.

    A plan of the result may be extended to a plan of the problem.

    :param paths: members that are not pinned
    :param are_placed_later: if they are, they count as survivors
    """
    tree = problem.topology
    member_sets = []
    for member_set in tree.member_sets:
        remaining = tuple(m for m in member_set.members if m.path not in paths)
        removed_count = member_set.count - len(remaining)
        min_count = max(0, member_set.min_count - removed_count)
        if remaining:
            member_sets.append(
                dataclasses.replace(
                    member_set,
                    members=remaining,
                    count=len(remaining),
                    min_count=min_count,
                )
            )
    policies = [
        _without_members(policy, paths, are_placed_later)
        for policy in tree.policies
    ]
    topology = dataclasses.replace(
        tree,
        member_sets=tuple(member_sets),
        members=tuple(m for m in tree.members if m.path not in paths),
        policies=tuple(policy for policy in policies if policy is not None),
    )
    return dataclasses.replace(problem, topology=topology)


def require_only(
    problem: problems.Problem, paths: Iterable[Path]
) -> problems.Problem:
    """Return the problem of some members, all of which must be placed.

    :param paths: these members; pinned members stay in any case
    """
    return require_all(remove_members(problem, problem.movable - set(paths)))


def require_all(problem: problems.Problem) -> problems.Problem:
    """Return the problem in which all members must be placed."""
    tree = problem.topology
    member_sets = tuple(
        dataclasses.replace(member_set, min_count=member_set.count)
        for member_set in tree.member_sets
    )
    return dataclasses.replace(
        problem, topology=dataclasses.replace(tree, member_sets=member_sets)
    )


def without_used(
    hosts: Mapping[HostId, problems.Host],
    used: Mapping[HostId, Mapping[str, int]],
) -> dict[HostId, problems.Host]:
    """Return the hosts with what is free beside some used amounts."""
    reduced = {
        host_id: dataclasses.replace(
            hosts[host_id],
            free={
                name: amount - amounts.get(name, 0)
                for name, amount in hosts[host_id].free.items()
            },
        )
        for host_id, amounts in used.items()
    }
    return {**hosts, **reduced}


def fix_others(
    problem: problems.Problem,
    plan: violations.Plan,
    moving: Container[Path],
) -> problems.Problem:
    """Return the problem with all but some members pinned as in a plan.

    Policies that concern no movable member are dropped.

    :param plan: a feasible plan of the problem
    :param moving: members that may move; members that the plan leaves out may
        be placed, too
    """
    fixed = {
        path: host
        for path, host in plan.placement.items()
        if path not in moving
    }
    used = violations.usage(
        problem, plan, fixed.keys() - problem.pinned.keys()
    )
    tree = problem.topology
    unfixed = problem.class_of.keys() - fixed.keys()
    policies = tuple(
        policy for policy in tree.policies if _concerns(policy, unfixed)
    )
    return dataclasses.replace(
        problem,
        hosts=without_used(problem.hosts, used),
        pinned=fixed,
        topology=dataclasses.replace(tree, policies=policies),
    )


def restore_alternatives(
    plan: violations.Plan, part: violations.Plan
) -> violations.Plan:
    """Add the pinned members' alternatives to a plan of fix_others().

    :param plan: the plan that fix_others() was given
    :param part: a plan of the smaller problem
    """
    alternative = {
        path: plan.alternative[path]
        for path in part.placement.keys() & plan.alternative.keys()
        if part.placement[path] == plan.placement.get(path)
    }
    return violations.Plan(part.placement, {**alternative, **part.alternative})


def _concerns(policy: base.Policy, paths: Set[Path]) -> bool:
    """Check whether a policy may depend on some members."""
    return policy.is_exclusive or not paths.isdisjoint(policy.paths)


def _without_members(
    policy: base.Policy, paths: Container[Path], are_placed_later: bool
) -> base.Policy | None:
    """Return a policy over fewer members, None if it covers too few."""
    sides = tuple(
        kept
        for side in policy.sides
        if (kept := tuple(path for path in side if path not in paths))
    )
    if len(sides) < min(2, len(policy.sides)):
        return None
    removed_count = policy.size - sum(map(len, sides))
    if are_placed_later and removed_count:
        return policy.reduced(sides, removed_count)
    return dataclasses.replace(policy, sides=sides)

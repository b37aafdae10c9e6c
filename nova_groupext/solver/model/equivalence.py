# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of members, and the host options for them."""

import collections
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import TypeAlias

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base

#: Number of a policy and of one of its sides, and the path of the member
#: unless those of the side are interchangeable.
Cover: TypeAlias = tuple[int, int] | tuple[int, int, Path]


@dataclasses.dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """Interchangeable members: equal in class, policies and optionality.

    :ivar members: in path order
    :ivar optional: their member set if it has optional members, else ''
    :ivar scopes: levels at which their host must have a domain
    :ivar current: hosts where some are now; one at most, of all, if they are
        to stay there
    """

    members: tuple[Path, ...]
    member_class: problems.MemberClass
    optional: Path
    scopes: frozenset[Level]
    current: frozenset[HostId] = frozenset()


#: Number of members by class.
ClassDemand: TypeAlias = Mapping[EquivalenceClass, int]


def equivalence_classes(problem: problems.Problem) -> list[EquivalenceClass]:
    """Return all equivalence classes; pinned members are in none."""
    policies = problem.topology.policies
    covers_of, scopes = covers(policies), _strict_scopes(policies)
    member_sets = {
        member_set.path: member_set
        for member_set in problem.topology.member_sets
    }
    members_by_key = collections.defaultdict[
        tuple[problems.ClassName, Path, HostId | None, tuple[Cover, ...]],
        list[Path],
    ](list)
    for member in problem.topology.members:
        if member.path not in problem.pinned:
            member_set = member_sets[member.member_set]
            is_optional = member_set.min_count < member_set.count
            stays = problem.keeps_current
            key = (
                member.spec['class'],
                member_set.path if is_optional else '',
                problem.may_stay.get(member.path) if stays else None,
                tuple(covers_of.get(member.path, ())),
            )
            members_by_key[key].append(member.path)
    return [
        EquivalenceClass(
            members=tuple(paths),
            member_class=problem.class_of[paths[0]],
            optional=optional,
            scopes=frozenset(scopes.get(paths[0], ())),
            current=_current_hosts(problem, paths),
        )
        for (_, optional, *_), paths in members_by_key.items()
    ]


def _current_hosts(
    problem: problems.Problem, paths: Iterable[Path]
) -> frozenset[HostId]:
    """Return the hosts where some members are, and may stay."""
    may_stay = problem.may_stay
    return frozenset(may_stay[path] for path in paths if path in may_stay)


def covers(policies: Iterable[base.Policy]) -> dict[Path, list[Cover]]:
    """Return the policies and sides that cover each member.

    They are equal for members that are interchangeable to the policies.
    """
    covers_of = collections.defaultdict[Path, list[Cover]](list)
    for number, policy in enumerate(policies):
        for side_number, side in enumerate(policy.sides):
            for path in side:
                cover = (number, side_number)
                # Members are interchangeable only if the policy says so.
                covers_of[path].append(
                    cover if policy.is_symmetric else (*cover, path)
                )
    return covers_of


def covered(
    eq_classes: Iterable[EquivalenceClass], paths: Container[Path]
) -> list[EquivalenceClass]:
    """Return the classes of some paths, such as those of a policy.

    :param paths: all members of a class, or none
    """
    return [each for each in eq_classes if each.members[0] in paths]


def to_plan(
    problem: problems.Problem,
    assignments: Iterable[tuple[EquivalenceClass, HostId, int]],
) -> violations.Plan:
    """Return the plan that assigns members in order of path and host id.

    :param assignments: class, host and option of every placed member that is
        not pinned
    """
    by_eq_class = collections.defaultdict[
        EquivalenceClass, list[tuple[HostId, int]]
    ](list)
    for eq_class, host, option in assignments:
        by_eq_class[eq_class].append((host, option))
    placement = dict(problem.pinned)
    alternative: dict[Path, int] = {}
    for eq_class, hosts in by_eq_class.items():
        for path, (host, option) in zip(
            eq_class.members, sorted(hosts), strict=False
        ):
            placement[path] = host
            if host in eq_class.member_class.alternatives:
                alternative[path] = option
    return violations.Plan(placement, alternative)


def _strict_scopes(policies: Iterable[base.Policy]) -> dict[Path, set[Level]]:
    """Return the levels at which the host of each member needs a domain."""
    scopes = collections.defaultdict[Path, set[Level]](set)
    for policy in policies:
        if policy.strict:
            for path in policy.members:
                scopes[path].add(policy.scope)
    return scopes

# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of members, and the host options for them."""

import collections
import dataclasses
import math

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations


@dataclasses.dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """Interchangeable members: equal in class, policies and optionality.

    :ivar members: their paths, in path order
    :ivar optional: path of their member set if it has optional members, else
        ''
    :ivar scopes: levels at which their host must have a domain
    """

    members: tuple[str, ...]
    member_class: problems.MemberClass
    optional: str
    scopes: frozenset


@dataclasses.dataclass(frozen=True)
class HostOption:
    """Host with one of the requests that it offers to a class.

    :ivar option: index of the request
    :ivar max_members: number of members of the class that fit on the empty
        host
    """

    host: str
    option: int
    request: dict
    max_members: int


def equivalence_classes(problem):
    """Return all equivalence classes; pinned members are in none."""
    rules, scopes = _covering(problem.topology.policies)
    member_sets = {
        member_set.path: member_set
        for member_set in problem.topology.member_sets
    }
    members_by_key = collections.defaultdict(list)
    for member in problem.topology.members:
        if member.path not in problem.pinned:
            member_set = member_sets[member.member_set]
            optional = (
                member_set.path
                if member_set.min_count < member_set.count
                else ''
            )
            key = (member.spec['class'], optional, *rules[member.path])
            members_by_key[key].append(member.path)
    return [
        EquivalenceClass(
            members=tuple(paths),
            member_class=problem.class_of[paths[0]],
            optional=key[1],
            scopes=frozenset(scopes[paths[0]]),
        )
        for key, paths in members_by_key.items()
    ]


def host_options(problem, eq_class):
    """Return the HostOptions of an equivalence class, by host and option."""
    options = []
    allowed = eq_class.member_class.hosts
    # Hosts of a problem are sorted already; most subsets are small.
    for host_id in (
        sorted(allowed) if len(allowed) < len(problem.hosts) else problem.hosts
    ):
        host = problem.hosts[host_id]
        if _is_allowed(problem, eq_class, host.id):
            for option, request in enumerate(
                eq_class.member_class.options(host.id)
            ):
                max_members = min(
                    len(eq_class.members), _count_fits(host.free, request)
                )
                if max_members:
                    options.append(
                        HostOption(host.id, option, request, max_members)
                    )
    return options


def to_plan(problem, assignments):
    """Return the plan that assigns members in order of path and host id.

    :param assignments: (equivalence class, host id, option) of every placed
        member that is not pinned
    :returns: violations.Plan
    """
    by_eq_class = collections.defaultdict(list)
    for eq_class, host, option in assignments:
        by_eq_class[eq_class].append((host, option))
    placement = dict(problem.pinned)
    alternative = {}
    for eq_class, hosts in by_eq_class.items():
        for path, (host, option) in zip(
            eq_class.members, sorted(hosts), strict=False
        ):
            placement[path] = host
            if host in eq_class.member_class.alternatives:
                alternative[path] = option
    return violations.Plan(placement, alternative)


def _covering(policies):
    """Return (member -> policies and sides, member -> strict scopes)."""
    rules = collections.defaultdict(list)
    scopes = collections.defaultdict(set)
    for number, policy in enumerate(policies):
        for side_number, side in enumerate(policy.sides):
            for path in side:
                rule = (number, side_number)
                # Members are interchangeable only if the policy says so.
                rules[path].append(
                    rule if policy.is_symmetric else (*rule, path)
                )
                if policy.strict:
                    scopes[path].add(policy.scope)
    return rules, scopes


def _is_allowed(problem, eq_class, host_id):
    return host_id in eq_class.member_class.hosts and all(
        problem.domain(host_id, level) is not None for level in eq_class.scopes
    )


def _count_fits(free, request):
    counts = (free.get(r, 0) // n for r, n in request.items() if n)
    return min(counts, default=math.inf)

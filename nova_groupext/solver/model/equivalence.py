# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes of members, and the host options for them."""

import collections
import dataclasses
import math

from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import violations


@dataclasses.dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """Interchangeable members: equal in class, policies and optionality.

    :ivar members: their paths, in path order
    :ivar optional: path of their stem if it may leave members out, else ''
    :ivar scopes: levels at which their host must have a domain
    """

    members: tuple[str, ...]
    member_class: problems.MemberClass
    optional: str
    scopes: frozenset


@dataclasses.dataclass(frozen=True)
class HostOption:
    """Host with one of the requests that it offers to a class.

    :ivar way: index of the request
    :ivar most: number of members of the equivalence class that fit if alone
    """

    host: str
    way: int
    request: dict
    most: int


def equivalence_classes(problem):
    """Return all equivalence classes; pinned members are in none."""
    rules, scopes = _covering(problem.topology.policies)
    stems = {stem.path: stem for stem in problem.topology.stems}
    alike = collections.defaultdict(list)
    for member in problem.topology.members:
        if member.path not in problem.pinned:
            stem = stems[member.stem]
            optional = stem.path if stem.min_count < stem.count else ''
            key = (member.spec['class'], optional, *rules[member.path])
            alike[key].append(member.path)
    return [
        EquivalenceClass(
            members=tuple(paths),
            member_class=problem.class_of[paths[0]],
            optional=key[1],
            scopes=frozenset(scopes[paths[0]]),
        )
        for key, paths in alike.items()
    ]


def host_options(problem, unit):
    """Return every HostOption of an equivalence class, by host and way."""
    found = []
    some = unit.member_class.hosts
    # Hosts of a problem are sorted already; most subsets are small.
    for host_id in (
        sorted(some) if len(some) < len(problem.hosts) else problem.hosts
    ):
        host = problem.hosts[host_id]
        if _may_stand(problem, unit, host.id):
            for way, request in enumerate(unit.member_class.ways(host.id)):
                most = min(len(unit.members), _fits(host.free, request))
                if most:
                    found.append(HostOption(host.id, way, request, most))
    return found


def plan(problem, seats):
    """Return the plan that assigns members in order of path and host id.

    :param seats: (equivalence class, host id, way) of every placed member
        that is not pinned
    :returns: violations.Plan
    """
    by_unit = collections.defaultdict(list)
    for unit, host, way in seats:
        by_unit[unit].append((host, way))
    placement = dict(problem.pinned)
    alternative = {}
    for unit, taken in by_unit.items():
        for path, (host, way) in zip(
            unit.members, sorted(taken), strict=False
        ):
            placement[path] = host
            if host in unit.member_class.alternatives:
                alternative[path] = way
    return violations.Plan(placement, alternative)


def _covering(policies):
    """Return (member -> policies and sides, member -> strict scopes)."""
    rules = collections.defaultdict(list)
    scopes = collections.defaultdict(set)
    for number, policy in enumerate(policies):
        for end, side in enumerate(policy.sides):
            for path in side:
                rules[path].append((number, end))
                if policy.strict:
                    scopes[path].add(policy.scope)
    return rules, scopes


def _may_stand(problem, unit, host_id):
    return host_id in unit.member_class.hosts and all(
        problem.domain(host_id, level) is not None for level in unit.scopes
    )


def _fits(free, request):
    rooms = (free.get(r, 0) // n for r, n in request.items() if n)
    return min(rooms, default=math.inf)

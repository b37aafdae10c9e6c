# SPDX-License-Identifier: Apache-2.0
"""Interchangeable members, and the places there are for them."""

import collections
import dataclasses
import math

from nova_groupext.planner import problem as problems
from nova_groupext.planner import rules


@dataclasses.dataclass(frozen=True, eq=False)
class Unit:
    """Members that nothing tells apart.

    :ivar members: their paths, in path order
    :ivar optional: path of their stem if it may leave members out, else ''
    :ivar scopes: levels at which their host must have a domain
    """

    members: tuple[str, ...]
    member_class: problems.MemberClass
    optional: str
    scopes: frozenset


@dataclasses.dataclass(frozen=True)
class Place:
    """A host in one of the ways it offers to a class.

    :ivar way: index of the request taken
    :ivar most: how many members of one unit fit if it is alone
    """

    host: str
    way: int
    request: dict
    most: int


def form(problem):
    """All Units of a problem; pinned members are in none."""
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
        Unit(
            members=tuple(paths),
            member_class=problem.class_of[paths[0]],
            optional=key[1],
            scopes=frozenset(scopes[paths[0]]),
        )
        for key, paths in alike.items()
    ]


def places(problem, unit):
    """Every Place that may take a member of a unit, by host and way."""
    found = []
    some = unit.member_class.hosts
    # The hosts of a problem are in order; most sets of some are small.
    for host_id in (
        sorted(some) if len(some) < len(problem.hosts) else problem.hosts
    ):
        host = problem.hosts[host_id]
        if _may_stand(problem, unit, host.id):
            for way, request in enumerate(unit.member_class.ways(host.id)):
                most = min(len(unit.members), _fits(host.free, request))
                if most:
                    found.append(Place(host.id, way, request, most))
    return found


def plan(problem, seats):
    """The plan that fills seats from the smallest host id on.

    :param seats: (unit, host id, way) for every member that is not pinned
    :returns: rules.Plan
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
    return rules.Plan(placement, alternative)


def _covering(policies):
    """By member: which sides of which policies, and the strict scopes."""
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

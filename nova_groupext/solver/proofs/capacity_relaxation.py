# SPDX-License-Identifier: Apache-2.0
"""Capacity relaxation: the problem with unlimited capacity, on few hosts.

Without capacity limits, hosts of one domain are interchangeable, and so are
domains with the same kinds of hosts. A plan uses no more of a kind than there
are members, so the rest is dropped: the relaxation has a plan exactly if the
whole cloud has one with unlimited capacity.
"""

import collections
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import itertools
from typing import NamedTuple

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base


class _Part(NamedTuple):
    """Hosts to keep; parts of the same kind are interchangeable."""

    kind: Hashable
    hosts: tuple[HostId, ...]


def relax_capacity(problem: problems.Problem) -> problems.Problem:
    """Return the problem with unlimited capacity, on few of its hosts.

    If it has no plan, the problem has none; soft policies do not count.
    """
    hosts = {
        host: problem.hosts[host] for host in sorted(_select_hosts(problem))
    }
    classes: dict[problems.ClassName, problems.MemberClass] = {
        name: problems.MemberClass({}, each.hosts & hosts.keys(), {}, {})
        for name, each in problem.classes.items()
    }
    return dataclasses.replace(problem, classes=classes, hosts=hosts)


def _select_hosts(problem: problems.Problem) -> Iterable[HostId]:
    """Return ids of the hosts to keep."""
    max_per_kind = len(problem.class_of)
    kinds = _kinds(problem)
    parts = [_Part(kinds[host], (host,)) for host in problem.hosts]
    for level in range(1, len(problem.levels)):
        by_domain = collections.defaultdict[
            tuple[Domain | None, ...], list[_Part]
        ](list)
        for part in parts:
            by_domain[_domains(problem, part.hosts[0], level)].append(part)
        parts = [_merge(inside, max_per_kind) for inside in by_domain.values()]
        if not _is_nested(problem):
            # Levels that are not nested: only hosts with the same domain at
            # every level are interchangeable.
            return [host for part in parts for host in part.hosts]
    return _merge(parts, max_per_kind).hosts


def _merge(parts: Iterable[_Part], max_per_kind: int) -> _Part:
    """Merge parts into one, with a limited number of each kind."""
    by_kind = collections.defaultdict[Hashable, list[tuple[HostId, ...]]](list)
    for part in parts:
        by_kind[part.kind].append(part.hosts)
    kept = {kind: same[:max_per_kind] for kind, same in by_kind.items()}
    kind = frozenset((kind, len(same)) for kind, same in kept.items())
    hosts = itertools.chain.from_iterable(itertools.chain(*kept.values()))
    return _Part(kind, tuple(hosts))


def _kinds(problem: problems.Problem) -> Mapping[HostId, Hashable]:
    """Map host ids to all that distinguishes them but their domains."""
    used = {member.spec['class'] for member in problem.topology.members}
    classes = [problem.classes[name].hosts for name in sorted(used, key=str)]
    pinned = set(problem.pinned.values())
    is_distinct = any(p.sees == base.HOSTS for p in problem.topology.policies)
    has_exclusive = any(p.is_exclusive for p in problem.topology.policies)
    return {
        host.id: (
            has_exclusive and host.foreign,
            tuple(each in host.domains for each in problem.levels),
            host.id if is_distinct or host.id in pinned else None,
            tuple(host.id in hosts for hosts in classes),
        )
        for host in problem.hosts.values()
    }


def _domains(
    problem: problems.Problem, host: HostId, start: int
) -> tuple[Domain | None, ...]:
    """Return a host's domains at a level and at all larger ones."""
    return tuple(problem.domain(host, each) for each in problem.levels[start:])


def _is_nested(problem: problems.Problem) -> bool:
    """Check that every domain is within one domain of each larger level."""
    for level in range(1, len(problem.levels) - 1):
        larger: dict[Domain, list[Domain | None]] = {}
        for host in problem.hosts:
            domain, *outer = _domains(problem, host, level)
            # Hosts without a domain share none.
            if domain is not None and outer != larger.setdefault(
                domain, outer
            ):
                return False
    return True

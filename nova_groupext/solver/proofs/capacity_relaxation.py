# SPDX-License-Identifier: Apache-2.0
"""Capacity relaxation: the problem with unlimited capacity, on few hosts.

Without capacity limits, hosts of one domain are interchangeable, and so are
domains with the same kinds of hosts. A plan uses no more of a kind than there
are members, so the rest is dropped: the relaxation has a plan exactly if the
whole cloud has one with unlimited capacity.
"""

import collections
import dataclasses
import itertools

from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base


def relax_capacity(problem):
    """Return the problem with unlimited capacity, on few of its hosts.

    If it has no plan, the problem has none.

    :param problem: problems.Problem; soft policies do not count
    :returns: problems.Problem
    """
    hosts = {
        host: problem.hosts[host] for host in sorted(_select_hosts(problem))
    }
    classes = {
        name: problems.MemberClass({}, each.hosts & hosts.keys(), {}, {})
        for name, each in problem.classes.items()
    }
    return dataclasses.replace(problem, classes=classes, hosts=hosts)


def _select_hosts(problem):
    """Return ids of the hosts to keep."""
    max_per_kind = len(problem.class_of)
    kinds = _kinds(problem)
    parts = [(kinds[host], (host,)) for host in problem.hosts]
    for level in range(1, len(problem.levels)):
        by_domain = collections.defaultdict(list)
        for kind, hosts in parts:
            domains = _domains(problem, hosts[0], level)
            by_domain[domains].append((kind, hosts))
        parts = [_merge(inside, max_per_kind) for inside in by_domain.values()]
        if not _is_nested(problem):
            # Levels that are not nested: only hosts with the same domain at
            # every level are interchangeable.
            return [host for _, hosts in parts for host in hosts]
    return _merge(parts, max_per_kind)[1]


def _merge(parts, max_per_kind):
    """Merge parts into one, with a limited number of each kind."""
    by_kind = collections.defaultdict(list)
    for kind, hosts in parts:
        by_kind[kind].append(hosts)
    kept = {kind: same[:max_per_kind] for kind, same in by_kind.items()}
    kind = frozenset((kind, len(same)) for kind, same in kept.items())
    hosts = itertools.chain.from_iterable(itertools.chain(*kept.values()))
    return kind, tuple(hosts)


def _kinds(problem):
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


def _domains(problem, host, start):
    """Return a host's domains at a level and at all larger ones."""
    return tuple(problem.domain(host, each) for each in problem.levels[start:])


def _is_nested(problem):
    """Check that every domain is within one domain of each larger level."""
    for level in range(1, len(problem.levels) - 1):
        larger = {}
        for host in problem.hosts:
            domain, *outer = _domains(problem, host, level)
            # Hosts without a domain share none.
            if domain is not None and outer != larger.setdefault(
                domain, outer
            ):
                return False
    return True

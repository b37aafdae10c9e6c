# SPDX-License-Identifier: Apache-2.0
"""Capacity relaxation: the problem with unlimited capacity, on few hosts.

Without capacity limits, hosts of one domain are interchangeable, and so are
domains with the same kinds of hosts. A plan uses no more of a kind than there
are members, so the rest is dropped: the relaxation has a plan exactly if the
whole cloud has one with unlimited capacity.
"""

import collections
import dataclasses

from nova_groupext.solver.model import problems


def relax_capacity(problem):
    """Return the problem with unlimited capacity, on few of its hosts.

    If it has no plan, the problem has none.

    :param problem: problems.Problem; soft policies do not count
    :returns: problems.Problem
    """
    hosts = {host: problem.hosts[host] for host in sorted(_choose(problem))}
    classes = {
        name: problems.MemberClass({}, each.hosts & hosts.keys(), {}, {})
        for name, each in problem.classes.items()
    }
    return dataclasses.replace(problem, classes=classes, hosts=hosts)


def _choose(problem):
    """Return ids of the hosts to keep."""
    most = len(problem.class_of)
    kinds = _kinds(problem)
    parts = [(kinds[host], (host,)) for host in problem.hosts]
    for level in range(1, len(problem.levels)):
        inside = collections.defaultdict(list)
        for kind, hosts in parts:
            inside[_domains(problem, hosts[0], level)].append((kind, hosts))
        parts = [_join(some, most) for some in inside.values()]
        if not _is_nested(problem):
            # Levels that are not nested: only hosts with the same domain at
            # every level are interchangeable.
            return [host for _, hosts in parts for host in hosts]
    return _join(parts, most)[1]


def _join(parts, most):
    """Merge parts into one, with at most ``most`` of each kind."""
    alike = collections.defaultdict(list)
    for kind, hosts in parts:
        alike[kind].append(hosts)
    drawn = {kind: some[:most] for kind, some in alike.items()}
    kind = frozenset((kind, len(some)) for kind, some in drawn.items())
    hosts = [host for some in drawn.values() for part in some for host in part]
    return kind, tuple(hosts)


def _kinds(problem):
    """Map host ids to all that distinguishes them but their domains."""
    used = {member.spec['class'] for member in problem.topology.members}
    classes = [problem.classes[name].hosts for name in sorted(used, key=str)]
    pinned = set(problem.pinned.values())
    heeds_others = any(
        p.type == 'exclusive' for p in problem.topology.policies
    )
    return {
        host.id: (
            heeds_others and host.foreign,
            tuple(each in host.domains for each in problem.levels),
            host.id if host.id in pinned else None,
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
            domain, *others = _domains(problem, host, level)
            # Hosts without a domain share none.
            if domain is not None and others != larger.setdefault(
                domain, others
            ):
                return False
    return True

# SPDX-License-Identifier: Apache-2.0
"""A cloud with room for everybody, drawn with few hosts.

Where room does not count, hosts of one domain are alike, and so are domains
with the same hosts in them. A plan uses no more of them than there are
members, so more of a kind need not be drawn: the sketch has a plan exactly if
the cloud has one when every host has room for all.
"""

import collections
import dataclasses

from nova_groupext.planner import problem as problems


def draw(problem):
    """The problem with unlimited room, on few of its hosts.

    If it has no plan, the problem has none.

    :param problem: problem.Problem; its soft policies are not heeded
    :returns: problem.Problem
    """
    hosts = {host: problem.hosts[host] for host in sorted(_choose(problem))}
    classes = {
        name: problems.MemberClass({}, each.hosts & hosts.keys(), {}, {})
        for name, each in problem.classes.items()
    }
    return dataclasses.replace(problem, classes=classes, hosts=hosts)


def _choose(problem):
    """Ids of the hosts that are drawn."""
    most = len(problem.class_of)
    kinds = _kinds(problem)
    parts = [(kinds[host], (host,)) for host in problem.hosts]
    for level in range(1, len(problem.levels)):
        inside = collections.defaultdict(list)
        for kind, hosts in parts:
            inside[_domains(problem, hosts[0], level)].append((kind, hosts))
        parts = [_join(some, most) for some in inside.values()]
        if not _is_nested(problem):
            # These have the same domains at every level, and that is all
            # that can be told of them.
            return [host for _, hosts in parts for host in hosts]
    return _join(parts, most)[1]


def _join(parts, most):
    """One part made of some, of each kind no more than ``most``."""
    alike = collections.defaultdict(list)
    for kind, hosts in parts:
        alike[kind].append(hosts)
    drawn = {kind: some[:most] for kind, some in alike.items()}
    kind = frozenset((kind, len(some)) for kind, some in drawn.items())
    hosts = [host for some in drawn.values() for part in some for host in part]
    return kind, tuple(hosts)


def _kinds(problem):
    """Host id -> what else than its domains tells it from others."""
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
    """A host's domains at a level and all that are larger."""
    return tuple(problem.domain(host, each) for each in problem.levels[start:])


def _is_nested(problem):
    """Whether every domain is within one domain of each larger level."""
    for level in range(1, len(problem.levels) - 1):
        larger = {}
        for host in problem.hosts:
            domain, *others = _domains(problem, host, level)
            # What is in no domain shares none.
            if domain is not None and others != larger.setdefault(
                domain, others
            ):
                return False
    return True

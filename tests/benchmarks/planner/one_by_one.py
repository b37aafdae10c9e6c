# SPDX-License-Identifier: Apache-2.0
"""What there is without us: one server at a time, with no going back.

Members come in path order. Each goes to the host that is weighed best among
those with room on which no strict policy is broken by what stands there so
far, as Nova's scheduler does it for server groups.
"""

import numpy

from nova_groupext.solver.policies import violations

#: How to weigh what a host has left: the most first, or the least.
WEIGHTS = {'spreading': 1, 'packing': -1}

# Nova's CPU, RAM and disk weighers.
_WEIGHED = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def place(problem, sign):
    """Place all members, or give up at the first one without a host.

    :param problem: problem.Problem without pins and alternatives
    :param sign: one of WEIGHTS
    :returns: rules.Plan, lawful, or None
    """
    hosts = _Hosts(problem)
    watched = _watch(problem, hosts)
    placement = {}
    for member in problem.topology.members:
        wanted = member.spec['class']
        may = hosts.with_room(wanted)
        for watch, side in watched.get(member.path, ()):
            may &= watch.allows(side)
        if not may.any():
            return None
        chosen = hosts.best(may, sign)
        hosts.take(chosen, wanted)
        for watch, side in watched.get(member.path, ()):
            watch.note(side, chosen)
        placement[member.path] = hosts.ids[chosen]
    plan = violations.Plan(placement, {})
    return None if violations.find(problem, plan) else plan


class _Hosts:
    """All hosts as arrays, in the order of their ids."""

    def __init__(self, problem):
        self.ids = list(problem.hosts)
        names = {r for c in problem.classes.values() for r in c.request}
        self.resources = sorted(names.union(_WEIGHED))
        self.free = numpy.array(
            [
                [host.free.get(r, 0) for r in self.resources]
                for host in problem.hosts.values()
            ]
        )
        self.requests = {
            name: numpy.array([c.request.get(r, 0) for r in self.resources])
            for name, c in problem.classes.items()
        }
        self.eligible = {
            name: numpy.array([host_id in c.hosts for host_id in self.ids])
            for name, c in problem.classes.items()
        }
        most = numpy.maximum(self.free.max(axis=0), 1)
        self.scale = [r in _WEIGHED for r in self.resources] / most

    def with_room(self, wanted):
        fits = (self.free >= self.requests[wanted]).all(axis=1)
        return fits & self.eligible[wanted]

    def best(self, may, sign):
        """Index of the best of some hosts, the first one among equals."""
        among = numpy.flatnonzero(may)
        return among[numpy.argmax(sign * (self.free[among] @ self.scale))]

    def take(self, chosen, wanted):
        self.free[chosen] -= self.requests[wanted]


def _watch(problem, hosts):
    """Member path -> pairs of a strict policy's watch and the member's side.

    What is left out here still counts when the whole plan is checked.
    """
    watched = {}
    for policy in problem.topology.policies:
        if policy.strict and policy.type in _WATCHES:
            watch = _WATCHES[policy.type](problem, hosts, policy)
            for side, paths in enumerate(policy.sides):
                for path in paths:
                    watched.setdefault(path, []).append((watch, side))
    return watched


class _Watch:
    """The members that one strict policy covers, by domain.

    :ivar domains: host -> number of its domain, -1 for none
    :ivar counts: side, domain -> members so far
    """

    def __init__(self, problem, hosts, policy):
        names = [problem.domain(h, policy.scope) for h in hosts.ids]
        numbers = {name: n for n, name in enumerate(dict.fromkeys(names))}
        self.domains = numpy.array(
            [-1 if name is None else numbers[name] for name in names]
        )
        self.counts = numpy.zeros((len(policy.sides), len(numbers)), int)
        self.policy = policy

    def allows(self, side):
        """Mask of the hosts that may take one more."""
        return self.open(side)[self.domains] & (self.domains >= 0)

    def note(self, side, chosen):
        self.counts[side, self.domains[chosen]] += 1

    def open(self, side):
        """Mask of the domains that may take one more."""
        raise NotImplementedError


class _Together(_Watch):
    """Affinity; and strict proximity, which is about the other side."""

    def open(self, side):
        used = self.counts[-1 - side if len(self.counts) > 1 else 0] > 0
        return used | ~used.any()


class _Apart(_Watch):
    """Anti-affinity."""

    def open(self, side):
        return self.counts[0] < self.policy.max_per_domain


class _Spread(_Watch):
    """Domains that are still to be used count as empty ones."""

    def open(self, side):
        counts = self.counts[0]
        used = counts > 0
        after = counts + 1
        least = counts[used].min() if used.any() else 0
        if used.sum() < self.policy.min_domains:
            least = 0
            return ~used | (after - least <= self.policy.max_skew)
        highest = counts.max()
        opened = ~used & (highest - 1 <= self.policy.max_skew)
        return opened | (used & (after - least <= self.policy.max_skew))


class _Survive(_Watch):
    """What would be lost must not become too much."""

    def __init__(self, problem, hosts, policy):
        super().__init__(problem, hosts, policy)
        self.may_lose = len(policy.sides[0]) - policy.min_members

    def open(self, side):
        counts = self.counts[0]
        largest = numpy.sort(counts)[-self.policy.failures :]
        after = largest.sum() + (counts >= largest[0])
        return after <= self.may_lose


_WATCHES = {
    'affinity': _Together,
    'anti-affinity': _Apart,
    'network-proximity': _Together,
    'spread': _Spread,
    'survive': _Survive,
}

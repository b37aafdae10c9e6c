# SPDX-License-Identifier: Apache-2.0
"""Baseline: placement of one server at a time, without backtracking.

Members are placed in path order, each on the best weighed host with capacity
on which it violates no strict policy together with the members placed so far,
as Nova's scheduler does for server groups.
"""

import numpy

from nova_groupext.solver.model import violations

#: Weight of the free amounts of a host: most first, or least first.
WEIGHTS = {'spreading': 1, 'packing': -1}

# Nova's CPU, RAM and disk weighers.
_WEIGHED = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def place(problem, sign):
    """Place all members, or stop at the first one without a host.

    :param problem: problems.Problem without pins and alternatives
    :param sign: one of WEIGHTS
    :returns: a feasible violations.Plan, or None
    """
    hosts = _Hosts(problem)
    policies_of = _find_policies(problem, hosts)
    placement = {}
    for member in problem.topology.members:
        class_name = member.spec['class']
        allowed = hosts.find_fitting(class_name)
        for state, side in policies_of.get(member.path, ()):
            allowed &= state.allows(side)
        if not allowed.any():
            return None
        host = hosts.best(allowed, sign)
        hosts.consume(host, class_name)
        for state, side in policies_of.get(member.path, ()):
            state.count(side, host)
        placement[member.path] = hosts.ids[host]
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
        self.is_eligible = {
            name: numpy.array([host_id in c.hosts for host_id in self.ids])
            for name, c in problem.classes.items()
        }
        max_free = numpy.maximum(self.free.max(axis=0), 1)
        self.scale = [r in _WEIGHED for r in self.resources] / max_free

    def find_fitting(self, class_name):
        fits = (self.free >= self.requests[class_name]).all(axis=1)
        return fits & self.is_eligible[class_name]

    def best(self, allowed, sign):
        """Return the index of the best allowed host, the first of equals."""
        candidates = numpy.flatnonzero(allowed)
        return candidates[
            numpy.argmax(sign * (self.free[candidates] @ self.scale))
        ]

    def consume(self, host, class_name):
        self.free[host] -= self.requests[class_name]


def _find_policies(problem, hosts):
    """Return {member path: (state of a strict policy, side) pairs}.

    Policies without a state still count when the whole plan is checked.
    """
    policies_of = {}
    for policy in problem.topology.policies:
        if policy.strict and policy.type in _POLICY_STATES:
            state = _POLICY_STATES[policy.type](problem, hosts, policy)
            for side, paths in enumerate(policy.sides):
                for path in paths:
                    policies_of.setdefault(path, []).append((state, side))
    return policies_of


class _PolicyState:
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
        """Return a mask of the hosts that may take one more member."""
        return self.allowed_domains(side)[self.domains] & (self.domains >= 0)

    def count(self, side, host):
        self.counts[side, self.domains[host]] += 1

    def allowed_domains(self, side):
        """Return a mask of the domains that may take one more member."""
        raise NotImplementedError


class _OneDomain(_PolicyState):
    """Affinity, and strict proximity to the members of the other side."""

    def allowed_domains(self, side):
        used = self.counts[-1 - side if len(self.counts) > 1 else 0] > 0
        return used | ~used.any()


class _CountLimit(_PolicyState):
    """Anti-affinity."""

    def allowed_domains(self, side):
        return self.counts[0] < self.policy.max_per_domain


class _BalancedCounts(_PolicyState):
    """Spread: domains still to be used count as empty."""

    def allowed_domains(self, side):
        counts = self.counts[0]
        used = counts > 0
        after = counts + 1
        lowest = counts[used].min() if used.any() else 0
        if used.sum() < self.policy.min_domains:
            lowest = 0
            return ~used | (after - lowest <= self.policy.max_skew)
        highest = counts.max()
        is_new = ~used & (highest - 1 <= self.policy.max_skew)
        return is_new | (used & (after - lowest <= self.policy.max_skew))


class _Survivors(_PolicyState):
    """Survive: a limit of the members that would be lost."""

    def __init__(self, problem, hosts, policy):
        super().__init__(problem, hosts, policy)
        self.max_lost = len(policy.sides[0]) - policy.min_members

    def allowed_domains(self, side):
        counts = self.counts[0]
        largest = numpy.sort(counts)[-self.policy.failures :]
        after = largest.sum() + (counts >= largest[0])
        return after <= self.max_lost


_POLICY_STATES = {
    'affinity': _OneDomain,
    'anti-affinity': _CountLimit,
    'network-proximity': _OneDomain,
    'spread': _BalancedCounts,
    'survive': _Survivors,
}

# SPDX-License-Identifier: Apache-2.0
"""Policies as propagators: the hosts that a member may still be assigned to.

A propagator counts the members of its policy by domain. Before each assignment
it filters the hosts to those that keep the policy. Where only a complete plan
can be judged, the filter is heuristic; `violations` checks every plan.
"""

import numpy as np


class Propagator:
    """The filter of one policy; this base class filters nothing.

    :ivar policy: topology.Policy
    :ivar domain_of: by host: the number of its domain, -1 for none
    :ivar domains: host numbers of every domain
    :ivar firsts: first host of every domain
    :ivar units: covered equivalence classes, in their order
    :ivar counts: covered members by domain, the last for hosts without one
    :ivar size: number of covered members after the construction
    """

    #: True while the choice of its domains is open.
    is_open = False

    def __init__(self, matrices, policy):
        self.matrices = matrices
        self.policy = policy
        self.domain_of = matrices.level(policy.scope)
        self.domains = matrices.domains(policy.scope)
        self.firsts = matrices.firsts(policy.scope)
        paths = frozenset().union(*policy.sides)
        self.paths = paths
        units = [u for u in matrices.units if u.members[0] in paths]
        self.units = dict.fromkeys(units).keys()
        self.counts = np.zeros(len(self.domains) + 1, np.int64)
        for path, host in matrices.problem.pinned.items():
            if path in paths:
                self.count(matrices.number[host], 1)
        self.size = len(paths)

    def count(self, host, more):
        """Add a number of covered members on a host, negative to remove."""
        self.counts[self.domain_of[host]] += more

    def count_uncovered(self, host, more):
        """Add a number of members that the policy does not cover."""

    def narrow(self, hosts):
        """Return those of some hosts that may take one more covered member."""
        return hosts

    def filter_uncovered(self, hosts):
        """Return the hosts that may take one more member it does not cover."""
        return hosts

    def _by_host(self, hosts):
        return self.counts[self.domain_of[hosts]]


class OneDomain(Propagator):
    """Affinity: one domain for all members, or few if soft.

    :ivar is_open: true until the domain is fixed
    :ivar home: number of the domain that all members have to share, or None
    """

    home = None

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.is_open = not self.counts.any()
        used = np.flatnonzero(self.counts[:-1])
        if policy.strict and len(used) == 1:
            self.home = used[0]

    def settle(self, home):
        """Fix the domain, or allow several with None."""
        self.home = home
        self.is_open = False

    def forget(self):
        """Reopen the choice of the domain."""
        self.home = None
        self.is_open = True

    def narrow(self, hosts):
        if self.home is not None:
            return hosts[self.domain_of[hosts] == self.home]
        used = hosts[self._by_host(hosts) > 0]
        is_free = not self.policy.strict or not self.counts.any()
        return hosts if is_free and not len(used) else used


class ShortDistance(OneDomain):
    """Network proximity: one domain for all, or short distances if soft."""

    def __init__(self, matrices, policy):
        levels = matrices.problem.levels
        wider = levels[levels.index(policy.scope) + 1 :]
        self._wider = [
            (
                matrices.level(level),
                np.zeros(len(matrices.domains(level)) + 1, int),
            )
            for level in wider
        ]
        super().__init__(matrices, policy)

    def count(self, host, more):
        super().count(host, more)
        for domain_of, counts in self._wider:
            counts[domain_of[host]] += more

    def narrow(self, hosts):
        near = super().narrow(hosts)
        if len(near) < len(hosts) or self.policy.strict:
            return near
        for domain_of, counts in self._wider:
            near = hosts[counts[domain_of[hosts]] > 0]
            if len(near):
                return near
        return hosts


class CountLimit(Propagator):
    """Anti-affinity and survive: a sufficient limit per domain."""

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.is_of_hosts = policy.scope == matrices.problem.levels[0]

    @property
    def most(self):
        """Maximum number of members in one domain."""
        if self.policy.type == 'anti-affinity':
            return self.policy.max_per_domain
        spare = self.size - self.policy.min_members
        return max(1, spare // max(1, self.policy.failures))

    def narrow(self, hosts):
        counts = self._by_host(hosts)
        below = hosts[counts < self.most]
        if self.policy.strict or len(below):
            return below
        # One more costs least in the domain with the fewest members.
        return hosts[counts == counts.min(initial=self.size)]


class BalancedCounts(Propagator):
    """Spread: balanced numbers of members in a number of domains.

    :ivar is_open: true until the domains are fixed
    :ivar chosen: by domain: whether it is used; None if no choice is known
        to be feasible
    :ivar least: minimum of members in each of them
    :ivar most: maximum of members in each of them
    """

    chosen = None
    least = most = 0

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.is_open = True

    def forget(self):
        """Reopen the choice of the domains."""
        self.is_open = True

    def choose(self, room, turn):
        """Fix the domains to use; none if too few have capacity.

        :param room: estimated number of members that each domain takes
        :param turn: number that selects one of the feasible choices
        """
        self.is_open = False
        counts = self.counts[:-1]
        room = np.minimum(room + counts, self.size)
        room[counts > 0] = np.maximum(room, 1)[counts > 0]
        order = np.lexsort((-room, counts == 0))
        fewest = max(
            np.count_nonzero(counts),
            min(self.policy.min_domains, self.size),
            1,
        )
        available = np.count_nonzero(room)
        choices = []
        for used in range(fewest, available + 1):
            inside = order[:used]
            least = min(self.size // used, int(room[inside].min()))
            most = least + self.policy.max_skew
            spare = np.minimum(room[inside], most).sum() - self.size
            if least and spare >= 0:
                choices.append((-spare, used, least, most))
        self.chosen = None
        if choices:
            choices.sort()
            _, used, self.least, self.most = choices[turn % len(choices)]
            self.chosen = np.zeros(len(self.counts), bool)
            self.chosen[order[:used]] = True
        elif available < fewest:
            self.chosen = np.zeros(len(self.counts), bool)

    def narrow(self, hosts):
        if self.is_open:
            return hosts
        domains = self.domain_of[hosts]
        counts = self.counts[domains]
        if self.chosen is None:
            # No choice is known to be feasible: keep the counts balanced.
            return hosts[counts == counts.min(initial=self.size)]
        missing = np.maximum(0, self.least - self.counts)[self.chosen].sum()
        most = self.most
        if self.size - self.counts.sum() <= missing:
            most = self.least
        return hosts[self.chosen[domains] & (counts < most)]


class ExclusiveDomains(Propagator):
    """Exclusive: no foreign consumer or uncovered member in its domains."""

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.others = np.zeros_like(self.counts)
        for host in matrices.problem.hosts.values():
            if host.foreign:
                self.count_uncovered(matrices.number[host.id], 1)
        for path, host in matrices.problem.pinned.items():
            if path not in self.paths:
                self.count_uncovered(matrices.number[host], 1)

    def count_uncovered(self, host, more):
        self.others[self.domain_of[host]] += more

    def narrow(self, hosts):
        domains = self.domain_of[hosts]
        hosts = hosts[self.others[domains] == 0]
        used = hosts[self._by_host(hosts) > 0]
        return used if len(used) else hosts

    def filter_uncovered(self, hosts):
        return hosts[self._by_host(hosts) == 0]


_PROPAGATORS = {
    'affinity': OneDomain,
    'anti-affinity': CountLimit,
    'exclusive': ExclusiveDomains,
    'network-proximity': ShortDistance,
    'spread': BalancedCounts,
    'survive': CountLimit,
}


def make(matrices, policy):
    """Return the propagator of a policy."""
    return _PROPAGATORS[policy.type](matrices, policy)


def needs_domain(propagator):
    """Check whether a propagator needs a domain for all of its members."""
    return isinstance(propagator, OneDomain) and propagator.is_open

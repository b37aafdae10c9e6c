# SPDX-License-Identifier: Apache-2.0
"""Policies as propagators: the hosts that a member may still be assigned to.

A propagator counts the members of its policy by domain. Before each assignment
it filters the hosts to those that satisfy the policy. Where only a complete
plan can be checked, the filter is heuristic; `violations` checks every plan.
"""

import numpy as np


class Propagator:
    """The filter of one policy; this base class filters nothing.

    :ivar policy: its policy, a base.Policy
    :ivar domain_of: by host: the number of its domain, -1 for none
    :ivar domains: host numbers of every domain
    :ivar first_hosts: first host of every domain
    :ivar eq_classes: covered equivalence classes, in their order
    :ivar counts: covered members by domain, the last for hosts without one
    :ivar final_count: number of covered members after the construction
    """

    #: True while the choice of its domains is open.
    is_open = False

    #: True if it binds its members to one domain.
    binds_one_domain = False

    #: True if it chooses domains to spread over, see choose_domains().
    chooses_domains = False

    #: True if it counts members that the policy does not cover.
    counts_uncovered = False

    #: Number of the domain that all members have to share, or None.
    fixed_domain = None

    @property
    def needs_domain(self):
        """True if it needs a domain for all of its members."""
        return self.binds_one_domain and self.is_open

    @property
    def host_limit(self):
        """Maximum number of members on one host, None without one."""
        return None

    @property
    def needed_domains(self):
        """Number of domains it may require, None if it requires none."""
        return None

    def __init__(self, matrices, policy):
        self.matrices = matrices
        self.policy = policy
        self.domain_of = matrices.level(policy.scope)
        self.domains = matrices.domains(policy.scope)
        self.first_hosts = matrices.first_hosts(policy.scope)
        paths = frozenset().union(*policy.sides)
        self.paths = paths
        eq_classes = [
            eq_class
            for eq_class in matrices.eq_classes
            if eq_class.members[0] in paths
        ]
        self.eq_classes = dict.fromkeys(eq_classes).keys()
        self.counts = np.zeros(len(self.domains) + 1, np.int64)
        for path, host in matrices.problem.pinned.items():
            if path in paths:
                self.count(matrices.number[host], 1)
        self.final_count = len(paths)

    def count(self, host, number):
        """Add a number of covered members on a host, negative to remove."""
        self.counts[self.domain_of[host]] += number

    def count_uncovered(self, host, number):
        """Add a number of members that the policy does not cover."""

    def filter_hosts(self, hosts):
        """Return those of some hosts that may take one more covered member."""
        return hosts

    def filter_uncovered(self, hosts):
        """Return the hosts that may take one more uncovered member."""
        return hosts

    def _counts_on(self, hosts):
        return self.counts[self.domain_of[hosts]]


class OneDomain(Propagator):
    """One domain for all members, or few if soft.

    :ivar is_open: true until the domain is fixed
    """

    binds_one_domain = True

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.is_open = not self.counts.any()
        used = np.flatnonzero(self.counts[:-1])
        if policy.strict and len(used) == 1:
            self.fixed_domain = used[0]

    def fix_domain(self, domain):
        """Fix the domain, or allow several with None."""
        self.fixed_domain = domain
        self.is_open = False

    def unfix_domain(self):
        """Reopen the choice of the domain."""
        self.fixed_domain = None
        self.is_open = True

    def filter_hosts(self, hosts):
        if self.fixed_domain is not None:
            return hosts[self.domain_of[hosts] == self.fixed_domain]
        used = hosts[self._counts_on(hosts) > 0]
        is_free = not self.policy.strict or not self.counts.any()
        return hosts if is_free and not len(used) else used


class ShortDistance(OneDomain):
    """One domain for all members, or short distances if soft."""

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

    def count(self, host, number):
        super().count(host, number)
        for domain_of, counts in self._wider:
            counts[domain_of[host]] += number

    def filter_hosts(self, hosts):
        nearest = super().filter_hosts(hosts)
        if len(nearest) < len(hosts) or self.policy.strict:
            return nearest
        for domain_of, counts in self._wider:
            nearest = hosts[counts[domain_of[hosts]] > 0]
            if len(nearest):
                return nearest
        return hosts


class CountLimit(Propagator):
    """Sufficient limit on the members of a domain."""

    def __init__(self, matrices, policy, limit_of):
        """Create the filter.

        :param limit_of: function of the final count, returns the limit
        """
        super().__init__(matrices, policy)
        self._limit_of = limit_of
        self._is_of_hosts = policy.scope == matrices.problem.levels[0]

    @property
    def limit(self):
        """Maximum number of members in one domain."""
        return self._limit_of(self.final_count)

    @property
    def host_limit(self):
        return self.limit if self._is_of_hosts else None

    @property
    def needed_domains(self):
        return self.final_count / self.limit

    def filter_hosts(self, hosts):
        counts = self._counts_on(hosts)
        below = hosts[counts < self.limit]
        if self.policy.strict or len(below):
            return below
        # One more costs least in the domain with the fewest members.
        return hosts[counts == counts.min(initial=self.final_count)]


class BalancedCounts(Propagator):
    """Balanced numbers of members in a number of domains.

    :ivar is_open: true until the domains are fixed
    :ivar chosen: by domain: whether it is used; None if no choice is known
        to be feasible
    :ivar min_count: minimum of members in each of them
    :ivar max_count: maximum of members in each of them
    """

    chooses_domains = True
    chosen = None
    min_count = max_count = 0

    def __init__(self, matrices, policy, min_domains, max_skew):
        super().__init__(matrices, policy)
        self._min_domains = min_domains
        self._max_skew = max_skew
        self.is_open = True

    @property
    def needed_domains(self):
        return min(self.final_count, 2 * self._min_domains)

    def unfix_domain(self):
        """Reopen the choice of the domains."""
        self.is_open = True

    def choose_domains(self, capacity, number):
        """Fix the domains to use; none if too few have capacity.

        :param capacity: estimated number of members that each domain takes
        :param number: selects one of the feasible choices
        """
        self.is_open = False
        counts = self.counts[:-1]
        capacity = np.minimum(capacity + counts, self.final_count)
        capacity[counts > 0] = np.maximum(capacity, 1)[counts > 0]
        order = np.lexsort((-capacity, counts == 0))
        min_domains = max(
            np.count_nonzero(counts),
            min(self._min_domains, self.final_count),
            1,
        )
        available = np.count_nonzero(capacity)
        choices = []
        for used in range(min_domains, available + 1):
            inside = order[:used]
            min_count = min(
                self.final_count // used, int(capacity[inside].min())
            )
            max_count = min_count + self._max_skew
            surplus = (
                np.minimum(capacity[inside], max_count).sum()
                - self.final_count
            )
            if min_count and surplus >= 0:
                choices.append((-surplus, used, min_count, max_count))
        self.chosen = None
        if choices:
            choices.sort()
            _, used, self.min_count, self.max_count = choices[
                number % len(choices)
            ]
            self.chosen = np.zeros(len(self.counts), bool)
            self.chosen[order[:used]] = True
        elif available < min_domains:
            self.chosen = np.zeros(len(self.counts), bool)

    def filter_hosts(self, hosts):
        if self.is_open:
            return hosts
        domains = self.domain_of[hosts]
        counts = self.counts[domains]
        if self.chosen is None:
            # No choice is known to be feasible: keep the counts balanced.
            return hosts[counts == counts.min(initial=self.final_count)]
        missing = np.maximum(0, self.min_count - self.counts)[
            self.chosen
        ].sum()
        max_count = self.max_count
        if self.final_count - self.counts.sum() <= missing:
            max_count = self.min_count
        return hosts[self.chosen[domains] & (counts < max_count)]


class ExclusiveDomains(Propagator):
    """No foreign consumer or uncovered member in the domains in use."""

    counts_uncovered = True

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        self.uncovered_counts = np.zeros_like(self.counts)
        for host in matrices.problem.hosts.values():
            if host.foreign:
                self.count_uncovered(matrices.number[host.id], 1)
        for path, host in matrices.problem.pinned.items():
            if path not in self.paths:
                self.count_uncovered(matrices.number[host], 1)

    def count_uncovered(self, host, number):
        self.uncovered_counts[self.domain_of[host]] += number

    def filter_hosts(self, hosts):
        domains = self.domain_of[hosts]
        hosts = hosts[self.uncovered_counts[domains] == 0]
        used = hosts[self._counts_on(hosts) > 0]
        return used if len(used) else hosts

    def filter_uncovered(self, hosts):
        return hosts[self._counts_on(hosts) == 0]


class DomainViolation(Propagator):
    """Domains whose violation rises least with one more member."""

    def __init__(self, matrices, policy):
        super().__init__(matrices, policy)
        amounts = map(policy.domain_violation, range(1, len(self.paths) + 2))
        self._steps = np.diff([0, *amounts])

    def filter_hosts(self, hosts):
        steps = self._steps[self._counts_on(hosts)]
        return hosts[steps == steps.min(initial=self._steps.max())]

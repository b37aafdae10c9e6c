# SPDX-License-Identifier: Apache-2.0
"""Policies as propagators: the hosts that a member may still be assigned to.

A propagator counts the members of its policy by domain. Before each assignment
it filters the hosts to those that satisfy the policy. Where only a complete
plan can be checked, the filter is heuristic; `violations` checks every plan.
"""

from collections.abc import Callable

import numpy as np

from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.policies import base


class Propagator:
    """The filter of one policy; this base class filters nothing.

    :ivar level: the domains of its scope
    :ivar domain_of: by host: the number of its domain, -1 for none
    :ivar domains: host numbers of every domain
    :ivar eq_classes: covered equivalence classes, in their order
    :ivar counts: covered members by domain, the last for hosts without one
    :ivar final_count: number of covered members after the construction
    """

    #: True while the choice of its domains is open.
    is_open = False

    #: True if it binds its members to one domain.
    binds_one_domain = False

    #: True if it counts members that the policy does not cover.
    counts_uncovered = False

    #: Number of the domain that all members have to share, or None.
    fixed_domain: int | None = None

    @property
    def needs_domain(self) -> bool:
        """True if it needs a domain for all of its members."""
        return self.binds_one_domain and self.is_open

    @property
    def host_limit(self) -> int | None:
        """Maximum number of members on one host, None without one."""
        return None

    @property
    def needed_domains(self) -> float | None:
        """Number of domains it may require, None if it requires none."""
        return None

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
    ) -> None:
        self.matrices = matrices
        self.policy = policy
        self.level = matrices.arrays.domains(policy.scope)
        self.domain_of = self.level.numbers
        self.domains = self.level.hosts
        self.paths = policy.paths
        self.eq_classes = dict.fromkeys(
            equivalence.covered(matrices.eq_classes, self.paths)
        ).keys()
        self.counts = np.zeros(len(self.domains) + 1, np.int64)
        for path, host in matrices.problem.pinned.items():
            if path in self.paths:
                self.count(matrices.number[host], 1)
        self.final_count = policy.size

    def count(self, host: int, number: int) -> None:
        """Add a number of covered members on a host, negative to remove."""
        self.counts[self.domain_of[host]] += number

    def count_uncovered(self, host: int, number: int) -> None:
        """Add a number of members that the policy does not cover."""

    def filter_hosts(self, hosts: Ints) -> Ints:
        """Return those of some hosts that may take one more covered member."""
        return hosts

    def filter_uncovered(self, hosts: Ints) -> Ints:
        """Return the hosts that may take one more uncovered member."""
        return hosts

    def _counts_on(self, hosts: Ints) -> Ints:
        return self.counts[self.domain_of[hosts]]


class OneDomain(Propagator):
    """One domain for all members, or few if soft.

    :ivar is_open: true until the domain is fixed
    """

    binds_one_domain = True

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
    ) -> None:
        super().__init__(matrices, policy)
        self.is_open = not self.counts.any()
        used = np.flatnonzero(self.counts[:-1])
        if policy.strict and len(used) == 1:
            self.fixed_domain = int(used[0])

    def fix_domain(self, domain: int | None) -> None:
        """Fix the domain, or allow several with None."""
        self.fixed_domain = domain
        self.is_open = False

    def unfix_domain(self) -> None:
        """Reopen the choice of the domain."""
        self.fixed_domain = None
        self.is_open = True

    def filter_hosts(self, hosts: Ints) -> Ints:
        if self.fixed_domain is not None:
            is_inside: Bools = self.domain_of[hosts] == self.fixed_domain
            return hosts[is_inside]
        used = hosts[self._counts_on(hosts) > 0]
        is_free = not self.policy.strict or not self.counts.any()
        return hosts if is_free and not len(used) else used


class ShortDistance(OneDomain):
    """One domain for all members, or short distances if soft."""

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
    ) -> None:
        levels = matrices.problem.levels
        wider = levels[levels.index(policy.scope) + 1 :]
        self._wider = [
            (domains.numbers, np.zeros(domains.size + 1, np.int64))
            for domains in map(matrices.arrays.domains, wider)
        ]
        super().__init__(matrices, policy)

    def count(self, host: int, number: int) -> None:
        super().count(host, number)
        for domain_of, counts in self._wider:
            counts[domain_of[host]] += number

    def filter_hosts(self, hosts: Ints) -> Ints:
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

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
        limit_of: Callable[[int], int],
    ) -> None:
        """Create the filter.

        :param limit_of: function of the final count, returns the limit
        """
        super().__init__(matrices, policy)
        self._limit_of = limit_of
        self._is_of_hosts = policy.scope == matrices.problem.levels[0]

    @property
    def limit(self) -> int:
        """Maximum number of members in one domain."""
        return self._limit_of(self.final_count)

    @property
    def host_limit(self) -> int | None:
        return self.limit if self._is_of_hosts else None

    @property
    def needed_domains(self) -> float | None:
        return self.final_count / self.limit

    def filter_hosts(self, hosts: Ints) -> Ints:
        counts = self._counts_on(hosts)
        below = hosts[counts < self.limit]
        if self.policy.strict or len(below):
            return below
        # One more costs least in the domain with the fewest members.
        return with_least(hosts, counts, self.final_count)


class ExclusiveDomains(Propagator):
    """No foreign consumer or uncovered member in the domains in use."""

    counts_uncovered = True

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
    ) -> None:
        super().__init__(matrices, policy)
        self.uncovered_counts = np.zeros_like(self.counts)
        for host in matrices.problem.foreign_hosts:
            self.count_uncovered(matrices.number[host], 1)
        for path, host in matrices.problem.pinned.items():
            if path not in self.paths:
                self.count_uncovered(matrices.number[host], 1)

    def count_uncovered(self, host: int, number: int) -> None:
        self.uncovered_counts[self.domain_of[host]] += number

    def filter_hosts(self, hosts: Ints) -> Ints:
        domains = self.domain_of[hosts]
        hosts = hosts[self.uncovered_counts[domains] == 0]
        used = hosts[self._counts_on(hosts) > 0]
        return used if len(used) else hosts

    def filter_uncovered(self, hosts: Ints) -> Ints:
        is_free: Bools = self._counts_on(hosts) == 0
        return hosts[is_free]


class DomainViolation(Propagator):
    """Domains whose violation rises least with one more member."""

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
        domain_violation: Callable[[int], int],
    ) -> None:
        super().__init__(matrices, policy)
        amounts = map(domain_violation, range(1, len(self.paths) + 2))
        self._steps = np.diff([0, *amounts])

    def filter_hosts(self, hosts: Ints) -> Ints:
        steps = self._steps[self._counts_on(hosts)]
        return with_least(hosts, steps, self._steps.max())


def with_least(hosts: Ints, numbers: Ints, maximum: int) -> Ints:
    """Return the hosts with the least number.

    :param numbers: by host of these, at most ``maximum``
    """
    is_least: Bools = numbers == numbers.min(initial=maximum)
    return hosts[is_least]

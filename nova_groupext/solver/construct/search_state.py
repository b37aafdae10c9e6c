# SPDX-License-Identifier: Apache-2.0
"""The state of a search: capacity matrices, and the propagators of classes."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib

import numpy as np

from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import kinds
from nova_groupext.solver.construct.balanced_counts import BalancedCounts
from nova_groupext.solver.construct.propagators import OneDomain
from nova_groupext.solver.construct.propagators import Propagator
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.equivalence import EquivalenceClass


class SearchState:
    """The state of a search on a problem; constructions undo their steps.

    :ivar eq_classes: classes of the members to assign
    :ivar propagators: all propagators, by falling unit cost of their policies
    :ivar strict: propagators of the strict policies that cover a class
    :ivar soft: propagators of the soft ones
    :ivar one_domain: those of both that bind their members to one domain
    :ivar balanced: those of both that choose domains to spread over
    :ivar fitting: numbers of the domains that took all of a propagator's
        members alone, as far as known
    :ivar prescribed: numbers of prescribed domains
    """

    def __init__(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.matrices = capacity_matrices.CapacityMatrices(problem)
        self.eq_classes = self.matrices.eq_classes
        self.propagators = _make_propagators(self.matrices)
        self.strict: dict[EquivalenceClass, list[Propagator]] = {}
        self.soft: dict[EquivalenceClass, list[Propagator]] = {}
        self.one_domain: dict[EquivalenceClass, list[OneDomain]] = {}
        self.balanced: dict[EquivalenceClass, list[BalancedCounts]] = {}
        self._exclusive_elsewhere: dict[
            EquivalenceClass, list[Propagator]
        ] = {}
        for eq_class in self.eq_classes:
            self._distribute_propagators(eq_class)
        self._allowed = {
            eq_class: self._find_allowed(eq_class)
            for eq_class in self.eq_classes
        }
        self._hosts = {
            eq_class: np.flatnonzero(self._allowed[eq_class])
            for eq_class in self.eq_classes
        }
        self.volume = self._volumes()
        self.fitting: dict[Propagator, list[int]] = {}
        self.prescribed: Mapping[Propagator, int] = {}

    def _distribute_propagators(self, eq_class: EquivalenceClass) -> None:
        covering = [
            each for each in self.propagators if eq_class in each.eq_classes
        ]
        strict = [each for each in covering if each.policy.strict]
        soft = [each for each in covering if not each.policy.strict]
        self.strict[eq_class], self.soft[eq_class] = strict, soft
        self.one_domain[eq_class] = [
            each for each in strict + soft if isinstance(each, OneDomain)
        ]
        self.balanced[eq_class] = [
            each for each in strict + soft if isinstance(each, BalancedCounts)
        ]
        self._exclusive_elsewhere[eq_class] = [
            each
            for each in self.propagators
            if each.counts_uncovered and eq_class not in each.eq_classes
        ]

    def copy_fitting_from(self, other: 'SearchState') -> None:
        """Copy `fitting` from another state of the same problem."""
        counterparts = dict(
            zip(other.propagators, self.propagators, strict=True)
        )
        self.fitting = {
            counterparts[propagator]: domains
            for propagator, domains in other.fitting.items()
        }

    @contextlib.contextmanager
    def with_domains(
        self, prescribed: Mapping[Propagator, int]
    ) -> Iterator[None]:
        """Prescribe the domains of propagators within the context.

        :param prescribed: numbers of the domains
        """
        self.prescribed = prescribed
        try:
            yield
        finally:
            self.prescribed = {}

    @contextlib.contextmanager
    def without_memory(self) -> Iterator[None]:
        """Empty `fitting` within the context."""
        fitting, self.fitting = self.fitting, {}
        try:
            yield
        finally:
            self.fitting = fitting

    def covering(self, eq_class: EquivalenceClass) -> list[Propagator]:
        """Return the propagators that cover a class, strict ones first."""
        return self.strict[eq_class] + self.soft[eq_class]

    def hosts(self, eq_class: EquivalenceClass) -> Ints:
        """Return the hosts that may take one more member of a class.

        A soft policy restricts them only by a domain that is already fixed.
        """
        hosts = self._hosts[eq_class]
        fixed = [
            propagator.domains[propagator.fixed_domain]
            for propagator in self.covering(eq_class)
            if propagator.fixed_domain is not None
        ]
        if fixed:
            hosts = min(fixed, key=len)
            hosts = hosts[self._allowed[eq_class][hosts]]
        hosts = hosts[self.capacity(eq_class, hosts) > 0]
        for propagator in self.strict[eq_class]:
            hosts = propagator.filter_hosts(hosts)
        for propagator in self._exclusive_elsewhere[eq_class]:
            if propagator.policy.strict:
                hosts = propagator.filter_uncovered(hosts)
        return hosts

    def preferred(
        self,
        eq_class: EquivalenceClass,
        hosts: Ints,
        ignored: Propagator | None = None,
    ) -> Ints:
        """Return those of some hosts that soft policies prefer.

        :param ignored: propagator to ignore
        """
        for propagator in self.soft[eq_class]:
            if propagator is not ignored:
                preferred = propagator.filter_hosts(hosts)
                hosts = preferred if len(preferred) else hosts
        for propagator in self._exclusive_elsewhere[eq_class]:
            preferred = propagator.filter_uncovered(hosts)
            hosts = preferred if len(preferred) else hosts
        return hosts

    def staying(self, eq_class: EquivalenceClass, hosts: Ints) -> Ints:
        """Return those of some hosts where members of a class are now.

        :returns: all of the hosts if there are none
        """
        current = [self.matrices.number[host] for host in eq_class.current]
        kept = hosts[np.isin(hosts, current)] if current else hosts
        return kept if len(kept) else hosts

    def capacity(self, eq_class: EquivalenceClass, hosts: Ints) -> Ints:
        """Return how many more members of a class fit, by host."""
        number = self.matrices.class_of[eq_class]
        capacity: Ints = self.matrices.capacity[number, hosts]
        return capacity

    def limited_capacity(
        self, eq_class: EquivalenceClass, hosts: Ints
    ) -> Ints:
        """Return the capacity by host within strict limits per host."""
        capacity = self.capacity(eq_class, hosts)
        for propagator in self.strict[eq_class]:
            limit = propagator.host_limit
            if limit is not None:
                capacity = np.minimum(capacity, limit)
        return capacity

    def assign(
        self, eq_class: EquivalenceClass, host: int, option: int | None = None
    ) -> int:
        """Assign a member; return the index of its allocation option."""
        self._count(eq_class, host, 1)
        return self.matrices.assign(eq_class, host, option)

    def restore(
        self,
        eq_class: EquivalenceClass,
        host: int,
        saved: capacity_matrices.HostState,
    ) -> None:
        """Undo the last assign() on a host, to its saved state."""
        self._count(eq_class, host, -1)
        self.matrices.restore(host, saved)

    def change(
        self, members: Sequence[tuple[EquivalenceClass, int, int]], sign: int
    ) -> None:
        """Assign or unassign members, see CapacityMatrices.change()."""
        for eq_class, host, _option in members:
            self._count(eq_class, host, sign)
        self.matrices.change(members, sign)

    def _count(
        self, eq_class: EquivalenceClass, host: int, number: int
    ) -> None:
        for propagator in self.covering(eq_class):
            propagator.count(host, number)
        for propagator in self._exclusive_elsewhere[eq_class]:
            propagator.count_uncovered(host, number)

    def _find_allowed(self, eq_class: EquivalenceClass) -> Bools:
        allowed = self.matrices.allowed_mask(eq_class)
        for scope in eq_class.scopes:
            allowed &= self.matrices.arrays.domains(scope).numbers >= 0
        return allowed

    def _volumes(self) -> dict[EquivalenceClass, float]:
        """Return by class the sum of a member's shares of the free amounts."""
        free = np.maximum(1, self.matrices.free.sum(axis=0, dtype=float))
        return {
            eq_class: float((self.matrices.need_of(eq_class) / free).sum())
            for eq_class in self.eq_classes
        }


def _make_propagators(
    matrices: capacity_matrices.CapacityMatrices,
) -> list[Propagator]:
    """Return the propagators of all policies that count."""
    policies = sorted(
        matrices.problem.topology.policies, key=lambda p: p.unit_cost
    )
    return [
        kinds.make(matrices, policy)
        for policy in policies
        if policy.strict or policy.weight
    ][::-1]

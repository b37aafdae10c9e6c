# SPDX-License-Identifier: Apache-2.0
"""The state of a search: capacity matrices, and the propagators of classes."""

import contextlib

import numpy as np

from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import kinds


class SearchState:
    """The state of a search on a problem; constructions undo their steps.

    :ivar matrices: capacity_matrices.CapacityMatrices
    :ivar eq_classes: EquivalenceClass objects of the members to assign
    :ivar propagators: all propagators, by falling unit cost of their policies
    :ivar strict: class -> propagators of the strict policies that cover it
    :ivar soft: class -> propagators of the soft ones
    :ivar fitting: propagator -> numbers of the domains that took all of its
        members alone, as far as known
    :ivar prescribed: propagator -> number of its prescribed domain
    """

    def __init__(self, problem):
        self.problem = problem
        self.matrices = capacity_matrices.CapacityMatrices(problem)
        self.eq_classes = self.matrices.eq_classes
        self.propagators = [
            kinds.make(self.matrices, policy)
            for policy in sorted(
                problem.topology.policies, key=lambda p: p.unit_cost
            )
            if policy.strict or policy.weight
        ][::-1]
        exclusive = [
            propagator
            for propagator in self.propagators
            if propagator.counts_uncovered
        ]
        self.strict, self.soft, self._exclusive_elsewhere = {}, {}, {}
        for eq_class in self.eq_classes:
            covering = [
                propagator
                for propagator in self.propagators
                if eq_class in propagator.eq_classes
            ]
            self.strict[eq_class] = [
                propagator
                for propagator in covering
                if propagator.policy.strict
            ]
            self.soft[eq_class] = [
                propagator
                for propagator in covering
                if not propagator.policy.strict
            ]
            self._exclusive_elsewhere[eq_class] = [
                propagator
                for propagator in exclusive
                if eq_class not in propagator.eq_classes
            ]
        self._allowed = {
            eq_class: self._find_allowed(eq_class)
            for eq_class in self.eq_classes
        }
        self._hosts = {
            eq_class: np.flatnonzero(self._allowed[eq_class])
            for eq_class in self.eq_classes
        }
        self.volume = self._volumes()
        self.fitting = {}
        self.prescribed = {}

    def copy_fitting_from(self, other):
        """Copy `fitting` from another state of the same problem."""
        counterparts = dict(
            zip(other.propagators, self.propagators, strict=True)
        )
        self.fitting = {
            counterparts[propagator]: domains
            for propagator, domains in other.fitting.items()
        }

    @contextlib.contextmanager
    def with_domains(self, prescribed):
        """Prescribe the domains of propagators within the context.

        :param prescribed: propagator -> number of its domain
        """
        self.prescribed = prescribed
        try:
            yield
        finally:
            self.prescribed = {}

    @contextlib.contextmanager
    def without_memory(self):
        """Empty `fitting` within the context."""
        fitting, self.fitting = self.fitting, {}
        try:
            yield
        finally:
            self.fitting = fitting

    def covering(self, eq_class):
        """Return the propagators that cover a class, strict ones first."""
        return self.strict[eq_class] + self.soft[eq_class]

    def hosts(self, eq_class):
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

    def preferred(self, eq_class, hosts, ignored=None):
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

    def capacity(self, eq_class, hosts):
        """Return how many more members of a class fit, by host."""
        return self.matrices.capacity[self.matrices.class_of[eq_class], hosts]

    def limited_capacity(self, eq_class, hosts):
        """Return the capacity by host within strict limits per host."""
        capacity = self.capacity(eq_class, hosts)
        for propagator in self.strict[eq_class]:
            limit = propagator.host_limit
            if limit is not None:
                capacity = np.minimum(capacity, limit)
        return capacity

    def assign(self, eq_class, host, option=None):
        """Assign a member; return the index of its allocation option."""
        self._count(eq_class, host, 1)
        return self.matrices.assign(eq_class, host, option)

    def restore(self, eq_class, host, saved):
        """Undo the last assign() on a host, to its saved state."""
        self._count(eq_class, host, -1)
        self.matrices.restore(host, saved)

    def unassign(self, eq_class, host, option):
        """Undo assign()."""
        self._count(eq_class, host, -1)
        self.matrices.unassign(eq_class, host, option)

    def _count(self, eq_class, host, number):
        for propagator in self.covering(eq_class):
            propagator.count(host, number)
        for propagator in self._exclusive_elsewhere[eq_class]:
            propagator.count_uncovered(host, number)

    def _find_allowed(self, eq_class):
        allowed = self.matrices.allowed_mask(eq_class)
        for scope in eq_class.scopes:
            allowed &= self.matrices.level(scope) >= 0
        return allowed

    def _volumes(self):
        """Return class -> sum of a member's shares of the free amounts."""
        free = np.maximum(1, self.matrices.free.sum(axis=0, dtype=float))
        return {
            eq_class: float((self.matrices.need_of(eq_class) / free).sum())
            for eq_class in self.eq_classes
        }

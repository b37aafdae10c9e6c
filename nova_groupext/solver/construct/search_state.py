# SPDX-License-Identifier: Apache-2.0
"""The state of a search: capacity matrices, and the propagators of classes."""

import contextlib

import numpy as np

from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.policies import violations


class SearchState:
    """The state of a search on a problem; constructions undo their steps.

    :ivar matrices: capacity_matrices.CapacityMatrices
    :ivar units: EquivalenceClass objects of the members to assign
    :ivar propagators: all propagators, by falling unit cost of their policies
    :ivar strict: class -> propagators of the strict policies that cover it
    :ivar soft: class -> propagators of the soft ones
    :ivar fitting: propagator -> numbers of the domains that took all of its
        members alone, as far as known
    :ivar homes: propagator -> number of its prescribed domain
    """

    def __init__(self, problem):
        self.problem = problem
        self.matrices = capacity_matrices.CapacityMatrices(problem)
        self.units = self.matrices.units
        self.propagators = [
            propagators.make(self.matrices, policy)
            for policy in sorted(
                problem.topology.policies, key=violations.unit_cost
            )
            if policy.strict or policy.weight
        ][::-1]
        alone = [
            g
            for g in self.propagators
            if isinstance(g, propagators.ExclusiveDomains)
        ]
        self.strict, self.soft, self._strangers = {}, {}, {}
        for unit in self.units:
            covering = [g for g in self.propagators if unit in g.units]
            self.strict[unit] = [g for g in covering if g.policy.strict]
            self.soft[unit] = [g for g in covering if not g.policy.strict]
            self._strangers[unit] = [g for g in alone if unit not in g.units]
        self._may = {unit: self._find_open(unit) for unit in self.units}
        self._hosts = {u: np.flatnonzero(self._may[u]) for u in self.units}
        self.volume = self._volumes()
        self.fitting = {}
        self.homes = {}

    def learn(self, other):
        """Copy `fitting` from another state of the same problem."""
        same = dict(zip(other.propagators, self.propagators, strict=True))
        self.fitting = {same[g]: found for g, found in other.fitting.items()}

    @contextlib.contextmanager
    def settled(self, homes):
        """Prescribe the domains of propagators within the context.

        :param homes: propagator -> number of its domain
        """
        self.homes = homes
        try:
            yield
        finally:
            self.homes = {}

    @contextlib.contextmanager
    def without_memory(self):
        """Empty `fitting` within the context."""
        fitting, self.fitting = self.fitting, {}
        try:
            yield
        finally:
            self.fitting = fitting

    def covering(self, unit):
        """Return the propagators that cover a class, strict ones first."""
        return self.strict[unit] + self.soft[unit]

    def hosts(self, unit):
        """Return the hosts that may take one more member of a class.

        A soft policy restricts them only by a domain that is already fixed.
        """
        hosts = self._hosts[unit]
        homes = [
            propagator.domains[propagator.home]
            for propagator in self.covering(unit)
            if isinstance(propagator, propagators.OneDomain)
            and propagator.home is not None
        ]
        if homes:
            hosts = min(homes, key=len)
            hosts = hosts[self._may[unit][hosts]]
        hosts = hosts[self.room(unit, hosts) > 0]
        for propagator in self.strict[unit]:
            hosts = propagator.narrow(hosts)
        for propagator in self._strangers[unit]:
            if propagator.policy.strict:
                hosts = propagator.filter_uncovered(hosts)
        return hosts

    def liked(self, unit, hosts, but=None):
        """Return those of some hosts that soft policies prefer.

        :param but: propagator to ignore
        """
        for propagator in self.soft[unit]:
            if propagator is not but:
                liked = propagator.narrow(hosts)
                hosts = liked if len(liked) else hosts
        for propagator in self._strangers[unit]:
            liked = propagator.filter_uncovered(hosts)
            hosts = liked if len(liked) else hosts
        return hosts

    def room(self, unit, hosts):
        """Return how many more members of a class fit, by host."""
        return self.matrices.room[self.matrices.class_of[unit], hosts]

    def at_most(self, unit, hosts):
        """Return the same, at most what strict limits per host allow."""
        room = self.room(unit, hosts)
        for propagator in self.strict[unit]:
            if (
                isinstance(propagator, propagators.CountLimit)
                and propagator.is_of_hosts
            ):
                room = np.minimum(room, propagator.most)
        return room

    def put(self, unit, host, way=None):
        """Assign a member; return the index of its allocation option."""
        self._count(unit, host, 1)
        return self.matrices.put(unit, host, way)

    def restore(self, unit, host, before):
        """Undo the last put() on a host, to its remembered state."""
        self._count(unit, host, -1)
        self.matrices.restore(host, before)

    def take(self, unit, host, way):
        """Undo put()."""
        self._count(unit, host, -1)
        self.matrices.take(unit, host, way)

    def _count(self, unit, host, more):
        for propagator in self.covering(unit):
            propagator.count(host, more)
        for propagator in self._strangers[unit]:
            propagator.count_uncovered(host, more)

    def _find_open(self, unit):
        open_ = self.matrices.may(unit)
        for scope in unit.scopes:
            open_ &= self.matrices.level(scope) >= 0
        return open_

    def _volumes(self):
        """Return class -> sum of a member's shares of the free amounts."""
        free = np.maximum(1, self.matrices.free.sum(axis=0, dtype=float))
        return {
            unit: float((self.matrices.need_of(unit) / free).sum())
            for unit in self.units
        }

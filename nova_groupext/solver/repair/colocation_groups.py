# SPDX-License-Identifier: Apache-2.0
"""Colocation groups: members that must share a domain, and candidates."""

import contextlib
import dataclasses
import itertools

import numpy as np

from nova_groupext.solver.construct import propagators
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import bottlenecks

# Levels with more domains than this have small ones, in which colocation
# groups are likely to compete.
_FEW_DOMAINS = 8

# Constructions before the integer program runs, and its seconds.
_TRIES = 3
_SLICE = 0.4

# Limit on hosts, summed over bottleneck classes; above it they are ignored.
_MOST_CAPTIVES = 3_000


class ColocationGroups:
    """Colocation groups of a problem, judged without any other members.

    :ivar domains: OneDomain propagator without a domain -> numbers of the
        domains that are not too small for all of its members
    :ivar fitting: the same -> numbers of the domains where a construction
        placed them; all of these if domains are large or the time ran out
    :ivar captives: equivalence.EquivalenceClass objects of bottleneck classes
        in no colocation group
    :ivar traps: by host number: whether a bottleneck class may use it
    """

    def __init__(self, finder, budget):
        """Find the domains that are large enough for each group.

        :param finder: squeaky_wheel.SqueakyWheel
        :param budget: time_budget.TimeBudget; groups without time are ignored
        """
        self._finder = finder
        self._problem = finder.problem
        self._state = finder.state
        self.captives = self._find_captives()
        self.traps = np.zeros(len(self._state.matrices.hosts), bool)
        for unit in self.captives:
            self.traps[self._state.hosts(unit)] = True
        self.domains, self.fitting = {}, {}
        for propagator in self._state.propagators:
            if (
                propagators.needs_domain(propagator)
                and propagator.policy.strict
                and budget.left()
            ):
                domains = self._rank(propagator)
                if propagator.units and len(domains):
                    self.domains[propagator] = list(domains)
                    self.fitting[propagator] = self._find_fitting(
                        propagator, budget
                    )

    def is_trap(self, propagator, domain):
        """Check whether a domain is small and has bottleneck hosts."""
        return (
            is_narrow(propagator)
            and self.traps[propagator.domains[domain]].any()
        )

    def fit(self, homes, budget):
        """Check whether colocation groups fit into their domains together.

        :param homes: propagator of some groups -> number of its domain
        :param budget: time_budget.TimeBudget
        """
        units = [
            unit
            for unit in self._state.units
            if any(unit in propagator.units for propagator in homes)
        ]
        has_traps = any(self.is_trap(*home) for home in homes.items())
        if not has_traps and self._seat(homes, units, budget):
            return True
        problem = self._around(homes, units, self.captives * has_traps)
        return feasibility.ask(problem, budget.slice(_SLICE)).plan is not None

    def _around(self, homes, units, captives):
        """Return the problem of groups in their domains, and of bottlenecks.

        Policies of bottleneck classes are dropped: interchangeable members
        need fewer variables.
        """
        names = self._state.matrices.hosts
        hosts = {}
        for unit in units:
            inside = [
                g.domains[home] for g, home in homes.items() if unit in g.units
            ]
            hosts[unit] = {names[host] for host in min(inside, key=len)}
        bound = {path for unit in units for path in unit.members}
        free = {path for unit in captives for path in unit.members}
        others = self._problem.movable - bound - free
        alone = subproblem.without(self._problem, others)
        policies = tuple(
            policy
            for policy in alone.topology.policies
            if free.isdisjoint(itertools.chain(*policy.sides))
        )
        topology = dataclasses.replace(alone.topology, policies=policies)
        alone = dataclasses.replace(alone, topology=topology)
        return subproblem.on_hosts(alone, hosts)

    def _seat(self, homes, units, budget):
        """Check whether a construction places all members of some groups."""
        with self._state.settled(homes):
            for _ in range(_TRIES):
                attempt = self._finder.prepare(budget)
                try:
                    if not attempt.seat_most(self._finder.order(units)):
                        return True
                except time_budget.OutOfTime:
                    return False
                finally:
                    attempt.undo()
        return False

    def _rank(self, propagator):
        # Domains in which constructions failed may fit all the same.
        with self._state.without_memory():
            order = self._finder.order(propagator.units)
            return self._finder.prepare().rank(propagator, order)

    def _find_fitting(self, propagator, budget):
        if is_narrow(propagator):
            with contextlib.suppress(time_budget.OutOfTime):
                return set(self._finder.find_fitting(propagator, budget) or ())
        return set(self.domains[propagator])

    def _find_captives(self):
        found = bottlenecks.find(self._state, self._finder.wanted)
        matrices = self._state.matrices
        hosts = {
            matrices.class_of[unit]: len(self._state.hosts(unit))
            for unit in found
        }
        return found if sum(hosts.values()) <= _MOST_CAPTIVES else []


def is_narrow(propagator):
    """Check whether the domains of a propagator are small."""
    return len(propagator.domains) > _FEW_DOMAINS

# SPDX-License-Identifier: Apache-2.0
"""Candidate lists: a few hosts per equivalence class, for the exact program.

Members that share a domain get the hosts of some domains that may take them
all. Other members get the hosts with the least opportunity cost, from as many
domains as their policies may require.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import ClassDemand
from nova_groupext.solver.model.equivalence import EquivalenceClass


class CandidateLimits(NamedTuple):
    """Numbers of candidates.

    :ivar capacity: of the hosts of a class, over the capacity it needs
    :ivar tightest: number of small domains, the tightest that may take all
        members that share one
    :ivar random: number of further ones
    :ivar large: number of large domains
    :ivar only_fitting: whether only domains count where constructions have
        placed the members alone
    """

    capacity: float
    tightest: int
    random: int = 0
    large: int = 1
    only_fitting: bool = True


def narrow(capacity: float) -> CandidateLimits:
    """Return the limits for a few members.

    :param capacity: of the hosts over what the members need
    """
    return CandidateLimits(capacity, tightest=math.ceil(capacity))


def of_part(factor: float) -> CandidateLimits:
    """Return the limits for all members.

    :param factor: over the least ones
    """
    return CandidateLimits(
        capacity=tuning.PART_CAPACITY * factor,
        tightest=math.ceil(tuning.PART_DOMAINS * factor),
        random=math.ceil(tuning.PART_RANDOM_DOMAINS * factor),
        large=math.ceil(tuning.PART_LARGE_DOMAINS * factor),
        only_fitting=False,
    )


class HostSampler:
    """Sampler of candidate hosts; each call draws a different sample."""

    def __init__(
        self, state: search_state.SearchState, random: np.random.Generator
    ) -> None:
        self.state = state
        self._random = random

    def sample(
        self,
        demand: ClassDemand,
        limits: CandidateLimits,
        plan: violations.Plan | None = None,
    ) -> dict[EquivalenceClass, list[HostId]]:
        """Return a sample of candidate hosts.

        :param demand: members to assign
        :param plan: plan whose hosts and domains are candidates, too
        """
        placement = plan.placement if plan else {}
        sample = _Sample(self.state, self._random, demand, limits, placement)
        host_ids = self.state.matrices.hosts
        return {
            eq_class: [host_ids[host] for host in hosts]
            for eq_class, hosts in sample.draw().items()
        }


class _Sample:
    """Candidate hosts, as numbers."""

    def __init__(
        self,
        state: search_state.SearchState,
        random: np.random.Generator,
        demand: ClassDemand,
        limits: CandidateLimits,
        placement: Mapping[Path, HostId],
    ) -> None:
        self.state = state
        self._random = random
        self._demand = demand
        self._limits = limits
        self._hosts = {eq_class: state.hosts(eq_class) for eq_class in demand}
        self._planned = {
            eq_class: self._numbers(
                placement[path]
                for path in eq_class.members
                if path in placement
            )
            for eq_class in demand
        }

    def draw(self) -> dict[EquivalenceClass, Ints]:
        """Choose domains, then hosts in them."""
        complete = set[EquivalenceClass]()
        divided = dict[EquivalenceClass, propagators.Propagator]()
        for propagator in self._one_domain_propagators():
            bound = [e for e in self._demand if e in propagator.eq_classes]
            if bound:
                self._restrict_to_domains(propagator, bound)
            if _has_small_domains(propagator):
                complete.update(bound)
            else:
                divided.update(dict.fromkeys(bound, propagator))
        for eq_class in self._demand:
            if eq_class not in complete:
                parts = _by_domain(
                    divided.get(eq_class), self._hosts[eq_class]
                )
                self._hosts[eq_class] = arrays.concatenate(
                    self._sample_hosts(eq_class, part) for part in parts
                )
        return self._hosts

    def _restrict_to_domains(
        self,
        propagator: propagators.Propagator,
        eq_classes: Sequence[EquivalenceClass],
    ) -> None:
        """Keep the hosts of some domains that may take all the classes."""
        hosts = {eq_class: self._hosts[eq_class] for eq_class in eq_classes}
        ranked = domain_ranking.rank_domains(
            *(self.state, propagator, hosts, self._demand),
            self._perturbation(),
            only_fitting=self._limits.only_fitting,
        )
        planned = self._planned_domains(propagator, eq_classes)
        if _has_small_domains(propagator):
            chosen = np.concatenate([planned, self._choose_domains(ranked)])
        else:
            others = ranked[~np.isin(ranked, planned)]
            chosen = np.concatenate([planned, others])[: self._limits.large]
        offered = np.zeros(len(propagator.domains) + 1, bool)
        offered[chosen] = True
        for eq_class, candidates in hosts.items():
            is_offered = offered[propagator.domain_of[candidates]]
            self._hosts[eq_class] = candidates[is_offered]

    def _planned_domains(
        self,
        propagator: propagators.Propagator,
        eq_classes: Iterable[EquivalenceClass],
    ) -> Ints:
        """Return the domains that the plan uses for some classes."""
        planned = arrays.concatenate(
            self._planned[eq_class] for eq_class in eq_classes
        )
        domains = np.unique(propagator.domain_of[planned])
        return domains[domains >= 0]

    def _numbers(self, host_ids: Iterable[HostId]) -> Ints:
        number = self.state.matrices.number
        return np.unique(
            np.fromiter((number[host] for host in host_ids), np.int64)
        )

    def _choose_domains(self, ranked: Ints) -> Ints:
        """Return the tightest of many domains, and some others."""
        others = self._random.permutation(ranked[self._limits.tightest :])
        return np.concatenate(
            [ranked[: self._limits.tightest], others[: self._limits.random]]
        )

    def _perturbation(self) -> Floats:
        return 1 + self._random.random(len(self.state.matrices.hosts))

    def _one_domain_propagators(self) -> list[propagators.Propagator]:
        """Return the strict one-domain propagators, widest scope first."""
        levels = self.state.problem.levels
        strict = [
            propagator
            for propagator in self.state.propagators
            if propagator.binds_one_domain and propagator.policy.strict
        ]
        return sorted(
            strict,
            key=lambda propagator: (
                levels.index(propagator.policy.scope),
                len(propagator.paths),
            ),
            reverse=True,
        )

    def _sample_hosts(self, eq_class: EquivalenceClass, hosts: Ints) -> Ints:
        """Return the cheapest hosts for a class, from several domains."""
        members = self._limits.capacity * self._demand[eq_class]
        matrices = self.state.matrices
        opportunity_cost = matrices.opportunity_cost[
            matrices.class_of[eq_class], hosts
        ]
        # Similar classes must not all get the same few hosts.
        hosts = hosts[
            np.argsort(
                opportunity_cost * self._random.exponential(size=len(hosts))
            )
        ]
        is_sampled = np.zeros(len(matrices.hosts), bool)
        is_sampled[self._first_with_capacity(eq_class, hosts, members)] = True
        is_sampled[np.intersect1d(self._planned[eq_class], hosts)] = True
        for propagator in self.state.strict[eq_class]:
            needed_domains = propagator.needed_domains
            if needed_domains is not None:
                domains = propagator.domain_of[hosts]
                _, first_indices = np.unique(domains, return_index=True)
                needed = max(1, math.ceil(needed_domains))
                for first_index in np.sort(first_indices)[: 2 * needed]:
                    inside = hosts[domains == domains[first_index]]
                    share = members / needed
                    is_sampled[
                        self._first_with_capacity(eq_class, inside, share)
                    ] = True
        return np.flatnonzero(is_sampled)

    def _first_with_capacity(
        self, eq_class: EquivalenceClass, hosts: Ints, members: float
    ) -> Ints:
        """Return the first hosts, as few as have capacity for the members."""
        capacity = np.cumsum(self.state.limited_capacity(eq_class, hosts))
        return hosts[: np.searchsorted(capacity, members) + 1]


def _has_small_domains(propagator: propagators.Propagator) -> bool:
    return len(propagator.domains) >= tuning.MIN_MANY_DOMAINS


def _by_domain(
    propagator: propagators.Propagator | None, hosts: Ints
) -> Iterable[Ints]:
    """Return some hosts by domain of a propagator; together without one."""
    if propagator is None:
        return [hosts]
    domains = propagator.domain_of[hosts]
    return [hosts[domains == domain] for domain in np.unique(domains)]

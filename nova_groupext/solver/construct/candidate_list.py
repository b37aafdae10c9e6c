# SPDX-License-Identifier: Apache-2.0
"""Candidate lists: a few hosts per equivalence class, for the exact program.

Members that share a domain get the hosts of some domains that may take them
all. Other members get the hosts with the least opportunity cost, from as many
domains as their policies may require.
"""

from collections.abc import Mapping
import math

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model.equivalence import ClassDemand
from nova_groupext.solver.model.equivalence import EquivalenceClass


class HostSampler:
    """Sampler of candidate hosts; each call draws a different sample."""

    def __init__(
        self, state: search_state.SearchState, random: np.random.Generator
    ) -> None:
        self.state = state
        self._random = random

    def sample(
        self, demand: ClassDemand, ratio: float
    ) -> dict[EquivalenceClass, list[HostId]]:
        """Return a sample of candidate hosts.

        :param demand: members to assign
        :param ratio: capacity of the sample over the capacity needed
        """
        hosts = {eq_class: self.state.hosts(eq_class) for eq_class in demand}
        complete = set[EquivalenceClass]()
        for propagator in self._one_domain_propagators():
            bound_hosts = {
                eq_class: hosts[eq_class]
                for eq_class in demand
                if eq_class in propagator.eq_classes
            }
            if bound_hosts:
                hosts.update(
                    self._restrict_to_domains(
                        propagator, bound_hosts, demand, ratio
                    )
                )
            if len(propagator.domains) >= tuning.MIN_MANY_DOMAINS:
                complete.update(bound_hosts)
        for eq_class in [
            eq_class for eq_class in demand if eq_class not in complete
        ]:
            members = ratio * demand[eq_class]
            hosts[eq_class] = self._sample_hosts(
                eq_class, hosts[eq_class], members
            )
        host_ids = self.state.matrices.hosts
        return {
            eq_class: [host_ids[host] for host in hosts[eq_class]]
            for eq_class in demand
        }

    def _restrict_to_domains(
        self,
        propagator: propagators.Propagator,
        hosts: Mapping[EquivalenceClass, Ints],
        demand: ClassDemand,
        ratio: float,
    ) -> dict[EquivalenceClass, Ints]:
        """Return the hosts of some domains that may take all the classes."""
        ranked = domain_ranking.rank_domains(
            self.state, propagator, hosts, demand, self._perturbation()
        )
        has_many = len(propagator.domains) >= tuning.MIN_MANY_DOMAINS
        offered = np.zeros(len(propagator.domains) + 1, bool)
        offered[ranked[: math.ceil(ratio) if has_many else 1]] = True
        return {
            eq_class: candidates[offered[propagator.domain_of[candidates]]]
            for eq_class, candidates in hosts.items()
        }

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

    def _sample_hosts(
        self, eq_class: EquivalenceClass, hosts: Ints, members: float
    ) -> Ints:
        """Return the cheapest hosts for some members, from several domains."""
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

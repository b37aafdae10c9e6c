# SPDX-License-Identifier: Apache-2.0
"""Candidate lists: a few hosts per equivalence class, for the exact program.

Members that share a domain get the hosts of some domains that may take them
all. Other members get the hosts with the least opportunity cost, from as many
domains as their policies may require.
"""

import math

import numpy as np

from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import propagators

# With at least this many domains, members that share one get the hosts of
# more than one.
_MANY_DOMAINS = 10


class HostSampler:
    """Sampler of candidate hosts; each call draws a different sample."""

    def __init__(self, state, random):
        """Bind the sampler to a search state.

        :param state: search_state.SearchState
        :param random: numpy.random.Generator
        """
        self.state = state
        self._random = random

    def pick(self, wanted, width):
        """Return a sample of candidate hosts.

        :param wanted: equivalence class -> number of members to assign
        :param width: factor of offered capacity over needed capacity
        :returns: equivalence class -> ids of hosts
        """
        hosts = {unit: self.state.hosts(unit) for unit in wanted}
        whole = set()
        for propagator in self._binding():
            bound = {u: hosts[u] for u in wanted if u in propagator.units}
            if bound:
                hosts.update(self._offer(propagator, bound, wanted, width))
            if len(propagator.domains) >= _MANY_DOMAINS:
                whole.update(bound)
        for unit in [unit for unit in wanted if unit not in whole]:
            members = width * wanted[unit]
            hosts[unit] = self._best(unit, hosts[unit], members)
        names = self.state.matrices.hosts
        return {u: [names[host] for host in hosts[u]] for u in wanted}

    def _offer(self, propagator, hosts, wanted, width):
        """Return the hosts of some domains that may take all the classes."""
        ranked = domain_ranking.rank(
            self.state, propagator, hosts, wanted, self._noise()
        )
        many = len(propagator.domains) >= _MANY_DOMAINS
        offered = np.zeros(len(propagator.domains) + 1, bool)
        offered[ranked[: math.ceil(width) if many else 1]] = True
        return {
            unit: some[offered[propagator.domain_of[some]]]
            for unit, some in hosts.items()
        }

    def _noise(self):
        return 1 + self._random.random(len(self.state.matrices.hosts))

    def _binding(self):
        """Return the strict one-domain propagators, widest scope first."""
        levels = self.state.problem.levels
        binding = [
            propagator
            for propagator in self.state.propagators
            if isinstance(propagator, propagators.OneDomain)
            and propagator.policy.strict
        ]
        return sorted(
            binding,
            key=lambda g: (levels.index(g.policy.scope), len(g.paths)),
            reverse=True,
        )

    def _best(self, unit, hosts, members):
        """Return the cheapest hosts for some members, from several domains."""
        matrices = self.state.matrices
        loss = matrices.loss[matrices.class_of[unit], hosts]
        # Similar classes must not all get the same few hosts.
        hosts = hosts[
            np.argsort(loss * self._random.exponential(size=len(hosts)))
        ]
        picked = np.zeros(len(matrices.hosts), bool)
        picked[self._enough(unit, hosts, members)] = True
        for propagator in self.state.strict[unit]:
            if isinstance(
                propagator, propagators.CountLimit | propagators.BalancedCounts
            ):
                domains = propagator.domain_of[hosts]
                _, firsts = np.unique(domains, return_index=True)
                needed = max(1, math.ceil(self._domains(propagator)))
                for first in np.sort(firsts)[: 2 * needed]:
                    inside = hosts[domains == domains[first]]
                    share = members / needed
                    picked[self._enough(unit, inside, share)] = True
        return np.flatnonzero(picked)

    def _domains(self, propagator):
        """Return how many domains, or fractions, a policy may require."""
        if isinstance(propagator, propagators.CountLimit):
            return propagator.size / propagator.most
        return min(propagator.size, 2 * propagator.policy.min_domains)

    def _enough(self, unit, hosts, members):
        """Return the first hosts, as few as have capacity for the members."""
        room = np.cumsum(self.state.at_most(unit, hosts))
        return hosts[: np.searchsorted(room, members) + 1]

# SPDX-License-Identifier: Apache-2.0
"""A few hosts for each unit, good enough for the exact programme.

Members that go together get some of the domains that may take them all;
others the hosts on which they cost least, from as many domains as their
policies may ask for.
"""

import math

import numpy as np

from nova_groupext.planner.greedy import guards
from nova_groupext.planner.greedy import homes

# From so many domains on, more than one is offered to members that go
# together.
_MANY_DOMAINS = 10


class Scout:
    """Picks hosts, other ones each time."""

    def __init__(self, setting, random):
        """Get ready.

        :param setting: setting.Setting
        :param random: numpy.random.Generator
        """
        self.setting = setting
        self._random = random

    def pick(self, wanted, width):
        """Pick hosts.

        :param wanted: unit -> how many members need one
        :param width: how many times more of them than are needed
        :returns: unit -> ids of hosts
        """
        hosts = {unit: self.setting.hosts(unit) for unit in wanted}
        whole = set()
        for guard in self._binding():
            bound = {u: hosts[u] for u in wanted if u in guard.units}
            if bound:
                hosts.update(self._offer(guard, bound, wanted, width))
            if len(guard.domains) >= _MANY_DOMAINS:
                whole.update(bound)
        for unit in [unit for unit in wanted if unit not in whole]:
            members = width * wanted[unit]
            hosts[unit] = self._best(unit, hosts[unit], members)
        names = self.setting.board.hosts
        return {u: [names[host] for host in hosts[u]] for u in wanted}

    def _offer(self, guard, hosts, wanted, width):
        """The hosts of some domains that may take all of some units."""
        ranked = homes.rank(self.setting, guard, hosts, wanted, self._noise())
        many = len(guard.domains) >= _MANY_DOMAINS
        offered = np.zeros(len(guard.domains) + 1, bool)
        offered[ranked[: math.ceil(width) if many else 1]] = True
        return {
            unit: some[offered[guard.domain_of[some]]]
            for unit, some in hosts.items()
        }

    def _noise(self):
        return 1 + self._random.random(len(self.setting.board.hosts))

    def _binding(self):
        """Guards whose members share a domain, the widest first."""
        levels = self.setting.problem.levels
        binding = [
            guard
            for guard in self.setting.guards
            if isinstance(guard, guards.Together) and guard.policy.strict
        ]
        return sorted(
            binding,
            key=lambda g: (levels.index(g.policy.scope), len(g.paths)),
            reverse=True,
        )

    def _best(self, unit, hosts, members):
        """Hosts for so many members that cost least, from several domains."""
        board = self.setting.board
        loss = board.loss[board.class_of[unit], hosts]
        # Units that are alike must not all be offered the same few hosts.
        hosts = hosts[
            np.argsort(loss * self._random.exponential(size=len(hosts)))
        ]
        picked = np.zeros(len(board.hosts), bool)
        picked[self._enough(unit, hosts, members)] = True
        for guard in self.setting.strict[unit]:
            if isinstance(guard, guards.Apart | guards.Even):
                domains = guard.domain_of[hosts]
                _, firsts = np.unique(domains, return_index=True)
                needed = max(1, math.ceil(self._domains(guard)))
                for first in np.sort(firsts)[: 2 * needed]:
                    inside = hosts[domains == domains[first]]
                    share = members / needed
                    picked[self._enough(unit, inside, share)] = True
        return np.flatnonzero(picked)

    def _domains(self, guard):
        """How many domains a guard may ask for."""
        if isinstance(guard, guards.Apart):
            return guard.size / guard.most
        return min(guard.size, 2 * guard.policy.min_domains)

    def _enough(self, unit, hosts, members):
        """The first hosts that have room for so many members together."""
        room = np.cumsum(self.setting.at_most(unit, hosts))
        return hosts[: np.searchsorted(room, members) + 1]

# SPDX-License-Identifier: Apache-2.0
"""Members that have to share a domain, and the domains that may do."""

import contextlib
import dataclasses
import itertools

import numpy as np

from nova_groupext.planner import ask
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import guards
from nova_groupext.planner.repair import captives

# Levels with more domains than this have small ones: who is together in one
# is likely to get in one another's way.
_FEW_DOMAINS = 8

# How often members are tried together before the exact programme is asked,
# and for how many seconds.
_TRIES = 3
_SLICE = 0.4

# Hosts of all classes of captives, summed up, up to which they are asked for.
_MOST_CAPTIVES = 3_000


class Bundles:
    """The bundles of a problem while nobody else has a seat.

    :ivar domains: guards.Together that waits for a domain -> numbers of the
        domains that are not too small for all of its members
    :ivar fitting: the same -> those where an attempt has seated them
    :ivar captives: units.Unit objects that nothing binds together, but that
        have to be where others would like to be
    """

    def __init__(self, finder, clock):
        """Find out what is large enough for whom.

        :param finder: greedy.Greedy
        :param clock: clock.Clock; those that it leaves no time for are not
            among the bundles
        """
        self._finder = finder
        self._problem = finder.problem
        self._setting = finder.setting
        self.captives = self._find_captives()
        self.traps = np.zeros(len(self._setting.board.hosts), bool)
        for unit in self.captives:
            self.traps[self._setting.hosts(unit)] = True
        self.domains, self.fitting = {}, {}
        for guard in self._setting.guards:
            if guards.waits(guard) and guard.policy.strict and clock.left():
                domains = self._rank(guard)
                if guard.units and len(domains):
                    self.domains[guard] = list(domains)
                    self.fitting[guard] = self._find_fitting(guard, clock)

    def is_trap(self, guard, domain):
        """Whether a domain is small and has hosts that captives need."""
        return is_narrow(guard) and self.traps[guard.domains[domain]].any()

    def fit(self, homes, clock):
        """Whether bundles are found seats in their domains.

        :param homes: some of the bundles -> number of its domain
        :param clock: clock.Clock
        """
        units = [
            unit
            for unit in self._setting.units
            if any(unit in guard.units for guard in homes)
        ]
        has_traps = any(self.is_trap(*home) for home in homes.items())
        if not has_traps and self._seat(homes, units, clock):
            return True
        problem = self._around(homes, units, self.captives * has_traps)
        return ask.ask(problem, clock.slice(_SLICE)).plan is not None

    def _around(self, homes, units, captives):
        """The problem of bundles in their domains, and of captives.

        No policies are asked of captives: there are fewer seats to decide
        about where all of a class are alike.
        """
        names = self._setting.board.hosts
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

    def _seat(self, homes, units, clock):
        """Whether an attempt seats all of some bundles."""
        with self._setting.settled(homes):
            for _ in range(_TRIES):
                attempt = self._finder.prepare(clock)
                try:
                    if not attempt.seat_most(self._finder.order(units)):
                        return True
                except clocks.OutOfTime:
                    return False
                finally:
                    attempt.undo()
        return False

    def _rank(self, guard):
        # Where attempts found no place there may be one all the same.
        with self._setting.forgetful():
            order = self._finder.order(guard.units)
            return self._finder.prepare().rank(guard, order)

    def _find_fitting(self, guard, clock):
        if is_narrow(guard):
            with contextlib.suppress(clocks.OutOfTime):
                return set(self._finder.find_fitting(guard, clock) or ())
        return set(self.domains[guard])

    def _find_captives(self):
        found = captives.find(self._setting, self._finder.wanted)
        board = self._setting.board
        hosts = {
            board.class_of[unit]: len(self._setting.hosts(unit))
            for unit in found
        }
        return found if sum(hosts.values()) <= _MOST_CAPTIVES else []


def is_narrow(guard):
    """Whether the domains of a guard are small."""
    return len(guard.domains) > _FEW_DOMAINS

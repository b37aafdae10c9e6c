# SPDX-License-Identifier: Apache-2.0
"""Seats for all bundles of some domains at once, by an exact programme.

Bundles that fill a domain are seldom seated one after the other. With them
are asked those that have hardly anywhere else to go: else the bundles would
take the seats that only these can use.
"""

import dataclasses

import numpy as np

from nova_groupext.planner import ask
from nova_groupext.planner import subproblem
from nova_groupext.planner.repair import bundles as bundling

# Seconds for one programme, and seats up to which it is worth it.
_SLICE = 3.0
_MOST_SEATS = 10_000


@dataclasses.dataclass(frozen=True)
class Move:
    """Bundles that are to be in other domains.

    :ivar homes: guards.Together -> number of its domain, for all bundles
    :ivar moved: those of them that move, or come in
    :ivar coming: paths of members that move or come in, not pinned
    """

    homes: dict
    moved: list
    coming: set


class Crowds:
    """Bundles, and who is captive in the domains where they are to be."""

    def __init__(self, problem, seated):
        """Get ready.

        :param problem: problem.Problem
        :param seated: greedy.seated.Seated, with those that have a seat
        """
        self._problem = problem
        self._seated = seated
        self._setting = seated.setting

    def seat(self, plan, move, bundles, clock):
        """Seat bundles in their domains, and the captives around them.

        :param plan: rules.Plan of those that are seated
        :param move: Move of guards of the setting
        :param bundles: bundles.Bundles
        :param clock: clock.Clock
        :returns: (rules.Plan, paths of the members that have a seat neither
            there nor where they were); None if there was no such plan
        """
        homes, coming = move.homes, move.coming
        crowd = self._find_crowd(move, bundles)
        if not crowd:
            return None
        traps = self._names(np.flatnonzero(bundles.traps))
        inside = traps.union(
            *(self._names(guard.domains[homes[guard]]) for guard in crowd)
        )
        here = {p for p, host in plan.placement.items() if host in inside}
        asked = {path for guard in crowd for path in guard.paths}
        asked |= {p for unit in bundles.captives for p in unit.members}
        movable = self._problem.movable
        asked &= movable & (coming | plan.placement.keys())
        lifted = ((here | coming) & movable) - asked
        base = plan.without(lifted)
        found = self._ask(base, asked, crowd, homes, traps, clock)
        return None if found is None else (found, lifted)

    def _find_crowd(self, move, bundles):
        """All bundles that share a small domain with one that moves.

        Wherever captives are, they might have to make room for it.
        """
        homes = move.homes
        crowded = {(guard.policy.scope, homes[guard]) for guard in move.moved}
        return [
            guard
            for guard, home in homes.items()
            if bundling.is_narrow(guard)
            and (
                bundles.is_trap(guard, home)
                or (guard.policy.scope, home) in crowded
            )
        ]

    def _ask(self, base, asked, crowd, homes, traps, clock):
        """The plan of those that stay, with seats for some more."""
        absent = self._problem.movable - asked - base.placement.keys()
        smaller = subproblem.without(self._problem, absent)
        around = subproblem.around(smaller, base, asked)
        hosts = self._hosts(asked, crowd, homes, traps)
        if sum(map(len, hosts.values())) > _MOST_SEATS:
            return None
        part = subproblem.on_hosts(around, hosts)
        found = ask.ask(part, clock.slice(_SLICE)).plan
        return None if found is None else subproblem.back(base, found)

    def _hosts(self, asked, crowd, homes, traps):
        """Where the members may go, by unit."""
        hosts = {}
        for unit, part in self._seated.parts(asked).items():
            domains = [
                guard.domains[homes[guard]]
                for guard in crowd
                if unit in guard.units
            ]
            home = min(domains, key=len, default=None)
            hosts[part] = traps if home is None else self._names(home)
        return hosts

    def _names(self, hosts):
        names = self._setting.board.hosts
        return {names[host] for host in hosts}

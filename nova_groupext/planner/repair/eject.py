# SPDX-License-Identifier: Apache-2.0
"""Seats for some members at the cost of others, who then have none.

Whoever has no seat gets one, and those who sat there look for another one:
who finds none waits in turn. Whom it has often been in vain for counts for
more, so that two that want the same seat do not send each other away for ever
(guided ejection search, Nagata and Bräysy, 2009).
"""

import collections
import contextlib
import dataclasses

import numpy as np

from nova_groupext.planner import rules
from nova_groupext.planner import units as unit_lists
from nova_groupext.planner.greedy import attempt as attempts
from nova_groupext.planner.greedy import guards
from nova_groupext.planner.repair import bundles as bundling
from nova_groupext.planner.repair import crowds

# Places that are looked at for the same members.
_TRIES = 16

# Orders in which bundles are tried in their new domains.
_ORDERS = 4

# By which factor seats may seem to cost more than they do.
_NOISE = 0.5


@dataclasses.dataclass(frozen=True)
class Change:
    """A plan in which some members have lost their seats to others.

    :ivar plan: rules.Plan, lawful as far as it goes
    :ivar lost: lists of paths of members that go together
    :ivar price: how much it is worth to have those who lost them
    :ivar helps: all that were to get a seat have one
    """

    plan: rules.Plan
    lost: list
    price: int
    helps: bool


class Ejection:
    """Sends members away."""

    def __init__(self, finder, seated):
        """Nobody has failed yet.

        :param finder: greedy.Greedy, which knows where members would fit
        :param seated: greedy.seated.Seated, with those that have a seat
        """
        self._finder = finder
        self._problem = finder.problem
        self._seated = seated
        self._setting = seated.setting
        self._same = dict(
            zip(finder.setting.guards, self._setting.guards, strict=True)
        )
        self._random = np.random.default_rng(finder.problem.seed)
        self._bundle_of = self._find_bundles()
        self._crowds = crowds.Crowds(self._problem, seated)
        self._failures = collections.Counter()

    def seat(self, plan, coming, clock):
        """Seat some members, whoever has to go for them.

        :param plan: the plan of those that are seated
        :param coming: paths of members that go together
        :param clock: clock.Clock
        :returns: Change, None if there was no place
        """
        self._failures.update(self._units_of(coming))
        best = None
        for _ in range(_TRIES):
            targets = self._finder.pick_hosts_for(coming, 1)
            found = self._change(plan, coming, targets)
            if found.helps and (best is None or found.price < best.price):
                best = found
            if not clock.left() or (best is not None and not best.lost):
                break
        return best

    def settle(self, plan, move, bundles, clock):
        """Move bundles to other domains, whoever has to go for them.

        :param plan: the plan of those that are seated
        :param move: crowds.Move of guards of the finder
        :param bundles: bundles.Bundles
        :param clock: clock.Clock
        :returns: Change
        """
        move = self._own(move)
        found = self._crowds.seat(plan, move, bundles, clock)
        coming = move.coming
        targets = {
            self._setting.board.hosts[host]
            for guard in move.moved
            for host in guard.domains[move.homes[guard]]
        }
        if found is not None:
            # Who had to go looks for a seat without asking others to.
            plan, coming = found
            self._seated.change_to(plan)
            targets = set()
        with self._setting.settled(move.homes):
            return min(
                (self._change(plan, coming, targets) for _ in range(_ORDERS)),
                key=lambda change: change.price,
            )

    def _own(self, move):
        """A move of guards of the setting, as far as domains are small."""
        return crowds.Move(
            {self._same[guard]: home for guard, home in move.homes.items()},
            [self._same[g] for g in move.moved if bundling.is_narrow(g)],
            move.coming,
        )

    def find_roomy(self, bundles):
        """Domains with room for bundles while no other bundle is there.

        :param bundles: guards.Together of the finder
        :returns: the same -> set of numbers of domains
        """
        paths = set().union(*(guard.paths for guard in bundles))
        with self._lifted(paths & self._problem.movable) as attempt:
            return {
                bundle: set(self._rank(attempt, self._same[bundle]))
                for bundle in bundles
            }

    def _change(self, plan, coming, targets):
        """Seat members; who sits on the targets has to look for a seat."""
        units = self._units_of(coming)
        alike = {path for unit in units for path in unit.members}
        here = {p for p, host in plan.placement.items() if host in targets}
        # Nothing is won where one of those that are alike goes for another.
        here -= alike - coming
        moving = here.union(*(self._bundle_of.get(path, ()) for path in here))
        moving &= plan.placement.keys() & self._problem.movable
        moving |= coming
        with self._lifted(moving) as attempt:
            others = [unit for unit in attempt.wanted if unit not in units]
            units.sort(key=self._hardness, reverse=True)
            others.sort(key=self._hardness, reverse=True)
            left = attempt.seat_most([*units, *others])
            seats = attempt.seats()
            attempt.undo()
        away = {unit for some in left for unit in some}
        parts = self._seated.parts(moving)
        lost = [[p for u in some for p in parts[u].members] for some in left]
        names = self._setting.board.hosts
        seats = [(parts[u], names[host], way) for u, host, way in seats]
        return Change(
            plan=self._move(plan, moving, seats),
            lost=lost,
            price=sum(
                (1 + max(self._failures[unit] for unit in some)) * len(paths)
                for some, paths in zip(left, lost, strict=True)
            ),
            helps=away.isdisjoint(units),
        )

    @contextlib.contextmanager
    def _lifted(self, paths):
        """While some members stand, an attempt to seat them."""
        with self._seated.lifted(paths) as standing:
            noise = self._random.random(len(self._setting.board.hosts))
            yield attempts.Attempt(
                self._setting, standing, 1 + _NOISE * noise, 0, False
            )

    def _rank(self, attempt, guard):
        return attempt.rank(
            guard, [unit for unit in attempt.wanted if unit in guard.units]
        )

    def _move(self, plan, moving, seats):
        """A plan with the moving members in their new seats, if any."""
        new = unit_lists.plan(self._problem, seats)
        stay = plan.without(moving)
        return rules.Plan(
            {**stay.placement, **new.placement},
            {**stay.alternative, **new.alternative},
        )

    def _units_of(self, paths):
        return [
            unit
            for unit in self._setting.units
            if not paths.isdisjoint(unit.members)
        ]

    def _hardness(self, unit):
        stray = 1 + _NOISE * self._random.random()
        return self._failures[unit], self._setting.volume[unit] * stray

    def _find_bundles(self):
        """Member path -> all that have to share its smallest domain."""
        levels = self._problem.levels
        bound = [
            (levels.index(guard.policy.scope), guard.paths)
            for guard in self._setting.guards
            if guards.waits(guard) and guard.policy.strict
        ]
        bundles = {}
        for _, paths in sorted(bound, key=lambda b: (b[0], len(b[1]))):
            for path in paths:
                bundles.setdefault(path, paths)
        return bundles

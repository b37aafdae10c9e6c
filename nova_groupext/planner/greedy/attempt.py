# SPDX-License-Identifier: Apache-2.0
"""One attempt to seat a group: each member where the least is lost.

Where members have to share a domain, the domain is decided before any of
them sits down. Domains that are too small are not looked at, and one that
turns out too small is left for the next. What has failed in a domain is not
tried there again while the same is free.
"""

import numpy as np

from nova_groupext.planner.greedy import guards
from nova_groupext.planner.greedy import homes

# Domains that are tried for the same members.
_TRIES = 12

# Orders in which the same members are tried in the same domain.
_ORDERS = 4

# Domains that are tried until an attempt gives up.
_ALL_TRIES = 200


class Attempt:
    """Seats members, and can take them back."""

    def __init__(
        self, setting, wanted, noise, turn, heeds_soft=True, clock=None
    ):
        """Get ready.

        :param setting: setting.Setting
        :param wanted: unit -> how many members to seat
        :param noise: by host, factor on what a seat there costs
        :param turn: which of several good choices to take
        :param heeds_soft: whether soft policies count
        :param clock: clock.Clock; where policies tie members to many others,
            there are more ways than there is time for: OutOfTime is raised
            then by whatever seats members
        """
        self.setting = setting
        self._check_time = clock.check if clock else lambda: None
        self.wanted = wanted
        self.noise = noise
        self.turn = turn
        self._guards = setting.covering if heeds_soft else setting.strict.get
        self._heeds_soft = heeds_soft
        self._steps = []
        self._tries = 0
        self._failed = set()
        for guard in setting.guards:
            here = int(guard.counts.sum())
            guard.size = here + sum(wanted[u] for u in guard.units)

    def seat_most(self, units):
        """Seat what can be seated, in this order.

        :returns: lists of units that go together and found no place
        """
        left = []
        for guard, bundle in self._bundles(units):
            mark = len(self._steps)
            self._tries = 0
            if not self._seat_next(guard, bundle):
                self.undo(mark)
                left += self._seat_parts(guard, bundle)
        return left

    def find_fitting(self, guard, units):
        """Domains that take all of some units while nobody else is there."""
        fitting = []
        for domain in self.rank(guard, units):
            self._tries = 0
            self._steps.append(guard)
            guard.settle(domain)
            try:
                if self._seat_all(units):
                    fitting.append(domain)
            finally:
                self.undo()
        return fitting

    def seat_more(self, unit, most):
        """Seat up to so many more members of a unit."""
        for _ in range(most):
            if not self._seat_one(unit):
                break

    def seats(self):
        """(unit, host number, way) of every member that sits."""
        return [step[:3] for step in self._steps if isinstance(step, tuple)]

    def undo(self, mark=0):
        """Take back all steps but the first ones."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            if isinstance(step, tuple):
                unit, host, _, before = step
                self.setting.restore(unit, host, before)
            else:
                step.forget()

    def _seat_parts(self, guard, units):
        """Seat what can be seated of units that cannot all be.

        :returns: as seat_most()
        """
        if guard is None or not self._has_parts(guard, units):
            return [units]
        home = None
        if guard.policy.strict:
            ranked = self.rank(guard, units)
            if not len(ranked):
                return [units]
            home = ranked[0]
        self._steps.append(guard)
        guard.settle(home)
        return self.seat_most(units)

    def _has_parts(self, guard, units):
        """Whether narrower guards bind some of the units, or none does."""
        return not guard.policy.strict or any(
            guards.waits(other) and other is not guard
            for unit in units
            for other in self._guards(unit)
        )

    def _bundles(self, units):
        """What to seat next, and the guard that waits for a domain for it."""
        todo = list(units)
        while todo:
            guard = self._undecided(todo[0])
            bundle = todo[:1]
            if guard is not None:
                bundle = [unit for unit in todo if unit in guard.units]
            todo = [unit for unit in todo if unit not in bundle]
            yield guard, bundle

    def _seat_all(self, units):
        """Seat all of some units; whoever finds no place goes first then."""
        mark = len(self._steps)
        for _ in range(_ORDERS):
            stuck = self._find_stuck(units)
            if stuck is None:
                return True
            self.undo(mark)
            if units[0] in stuck:
                break
            units = stuck + [unit for unit in units if unit not in stuck]
        return False

    def _find_stuck(self, units):
        """Seat units in this order; gives those that find no place."""
        for guard, bundle in self._bundles(units):
            if not self._seat_next(guard, bundle):
                return bundle
        return None

    def _seat_next(self, guard, units):
        if guard is None:
            return self._seat(units[0])
        return self._settle(guard, units)

    def _undecided(self, unit):
        """The widest guard of a unit that still waits for a domain."""
        waiting = [g for g in self._guards(unit) if guards.waits(g)]
        levels = self.setting.problem.levels
        return max(
            waiting,
            key=lambda g: (levels.index(g.policy.scope), len(g.units)),
            default=None,
        )

    def _settle(self, guard, units):
        """Find a domain that takes all of some units."""
        self._check_time()
        mark = len(self._steps)
        for domain in self.rank(guard, units)[:_TRIES]:
            state = self._state(guard, domain, units)
            if state in self._failed:
                continue
            self._tries += 1
            if self._tries > _ALL_TRIES:
                break
            self._steps.append(guard)
            guard.settle(domain)
            if self._seat_all(units):
                return True
            self.undo(mark)
            if self._tries <= _ALL_TRIES:
                self._failed.add(state)
        if guard.policy.strict:
            return False
        self._steps.append(guard)
        guard.settle(None)
        return self._seat_all(units)

    def _state(self, guard, domain, units):
        """What decides whether some units find a place in a domain.

        By and large: policies may count members in other domains too.
        """
        free = self.setting.board.free[guard.domains[domain]]
        return guard, domain, free.tobytes(), *units

    def rank(self, guard, units):
        """Domains that may take some units, the best liked first."""
        if guard in self.setting.homes:
            return np.array([self.setting.homes[guard]])
        hosts = {unit: self.setting.hosts(unit) for unit in units}
        ranked = homes.rank(
            self.setting, guard, hosts, self.wanted, self.noise
        )
        if self._heeds_soft:
            ranked = self._liked(guard, units[0], ranked)
        return ranked

    def _liked(self, guard, unit, domains):
        """Domains with those first that soft policies like best."""
        is_last = np.ones(len(guard.domains), bool)
        liked = self.setting.liked(unit, guard.firsts[domains], guard)
        is_last[guard.domain_of[liked]] = False
        return domains[np.argsort(is_last[domains], kind='stable')]

    def _seat(self, unit):
        return all(self._seat_one(unit) for _ in range(self.wanted[unit]))

    def _seat_one(self, unit):
        self._check_time()
        self._choose(unit)
        hosts = self.setting.hosts(unit)
        if not len(hosts):
            return False
        if self._heeds_soft:
            hosts = self.setting.liked(unit, hosts)
        board = self.setting.board
        loss = board.loss[board.class_of[unit], hosts] * self.noise[hosts]
        host = int(hosts[loss.argmin()])
        before = board.remember(host)
        way = self.setting.put(unit, host)
        self._steps.append((unit, host, way, before))
        return True

    def _choose(self, unit):
        """Let the guards of a unit choose the domains to spread over."""
        for guard in self._guards(unit):
            if guard.is_open and isinstance(guard, guards.Even):
                self._steps.append(guard)
                room = homes.room(self.setting, guard, self.wanted)
                guard.choose(room, self.turn)

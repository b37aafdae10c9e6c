# SPDX-License-Identifier: Apache-2.0
"""One attempt to seat a group: each member where the least is lost.

Where members have to share a domain, the domain is decided before any of
them sits down. Domains that are too small are not looked at, and one that
turns out too small is left for the next.
"""

from nova_groupext.planner.greedy import guards
from nova_groupext.planner.greedy import homes

# Domains that are tried for the same members.
_TRIES = 12

# Domains that are tried in one attempt.
_ALL_TRIES = 200


class Attempt:
    """Seats members, and can take them back.

    :ivar stuck: the unit for which nothing was found
    """

    def __init__(self, setting, wanted, noise, turn):
        """Get ready.

        :param setting: setting.Setting
        :param wanted: unit -> how many members to seat
        :param noise: by host, factor on what a seat there costs
        :param turn: which of several good choices to take
        """
        self.setting = setting
        self.wanted = wanted
        self.noise = noise
        self.turn = turn
        self.stuck = None
        self._steps = []
        self._tries = 0
        for guard in setting.guards:
            guard.size = guard.pinned + sum(wanted[u] for u in guard.units)

    def seat_all(self, units):
        """Seat what is wanted of some units, in this order, or fail."""
        todo = list(units)
        while todo:
            guard = self._undecided(todo[0])
            if guard is None:
                done = self._seat(todo.pop(0))
            else:
                bound = [unit for unit in todo if unit in guard.units]
                todo = [unit for unit in todo if unit not in guard.units]
                done = self._settle(guard, bound)
            if not done:
                return False
        return True

    def seat_more(self, unit, most):
        """Seat up to so many more members of a unit."""
        for _ in range(most):
            if not self._seat_one(unit):
                break

    def seats(self):
        """(unit, host number, way) of every member that sits."""
        return [step for step in self._steps if isinstance(step, tuple)]

    def undo(self, mark=0):
        """Take back all steps but the first ones."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            if isinstance(step, tuple):
                self.setting.take(*step)
            else:
                step.forget()

    def _undecided(self, unit):
        """The widest guard of a unit that still waits for a domain."""
        waiting = [
            guard
            for guard in self.setting.covering(unit)
            if guard.is_open and isinstance(guard, guards.Together)
        ]
        levels = self.setting.problem.levels
        return max(
            waiting,
            key=lambda g: (levels.index(g.policy.scope), len(g.units)),
            default=None,
        )

    def _settle(self, guard, units):
        """Find a domain that takes all of some units."""
        mark = len(self._steps)
        hosts = {unit: self.setting.hosts(unit) for unit in units}
        ranked = homes.rank(
            self.setting, guard, hosts, self.wanted, self.noise
        )
        for domain in ranked[:_TRIES]:
            self._tries += 1
            if self._tries > _ALL_TRIES:
                break
            self._steps.append(guard)
            guard.settle(domain)
            if self.seat_all(units):
                return True
            self.undo(mark)
        self.stuck = self.stuck or units[0]
        if guard.policy.strict:
            return False
        self._steps.append(guard)
        guard.settle(None)
        return self.seat_all(units)

    def _seat(self, unit):
        return all(self._seat_one(unit) for _ in range(self.wanted[unit]))

    def _seat_one(self, unit):
        self._choose(unit)
        hosts = self.setting.hosts(unit)
        if not len(hosts):
            self.stuck = unit
            return False
        hosts = self.setting.liked(unit, hosts)
        board = self.setting.board
        loss = board.loss[board.class_of[unit], hosts] * self.noise[hosts]
        host = int(hosts[loss.argmin()])
        self._steps.append((unit, host, self.setting.put(unit, host)))
        return True

    def _choose(self, unit):
        """Let the guards of a unit choose the domains to spread over."""
        for guard in self.setting.covering(unit):
            if guard.is_open and isinstance(guard, guards.Even):
                self._steps.append(guard)
                room = homes.room(self.setting, guard, self.wanted)
                guard.choose(room, self.turn)

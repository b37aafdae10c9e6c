# SPDX-License-Identifier: Apache-2.0
"""What every attempt works with: a board and who guards which unit."""

import contextlib

import numpy as np

from nova_groupext.planner import rules
from nova_groupext.planner.greedy import board as boards
from nova_groupext.planner.greedy import guards


class Setting:
    """A problem, ready for attempts; each leaves it as it has found it.

    :ivar board: board.Board
    :ivar units: units.Unit objects that have to be seated
    :ivar guards: all guards, the dearest policies first
    :ivar strict: unit -> guards of the strict policies that cover it
    :ivar soft: unit -> guards of the soft ones
    :ivar fitting: guard -> numbers of the domains that took all its members
        when nobody else was there, for those that were asked
    :ivar homes: guard -> number of the domain that it is to settle for
    """

    def __init__(self, problem):
        self.problem = problem
        self.board = boards.Board(problem)
        self.units = self.board.units
        self.guards = [
            guards.post(self.board, policy)
            for policy in sorted(problem.topology.policies, key=rules.price)
            if policy.strict or policy.weight
        ][::-1]
        alone = [g for g in self.guards if isinstance(g, guards.Alone)]
        self.strict, self.soft, self._strangers = {}, {}, {}
        for unit in self.units:
            covering = [g for g in self.guards if unit in g.units]
            self.strict[unit] = [g for g in covering if g.policy.strict]
            self.soft[unit] = [g for g in covering if not g.policy.strict]
            self._strangers[unit] = [g for g in alone if unit not in g.units]
        self._may = {unit: self._find_open(unit) for unit in self.units}
        self._hosts = {u: np.flatnonzero(self._may[u]) for u in self.units}
        self.volume = self._volumes()
        self.fitting = {}
        self.homes = {}

    def learn(self, other):
        """Take over what another setting of the same problem has found."""
        same = dict(zip(other.guards, self.guards, strict=True))
        self.fitting = {same[g]: found for g, found in other.fitting.items()}

    @contextlib.contextmanager
    def settled(self, homes):
        """While guards settle for given domains.

        :param homes: guard -> number of its domain
        """
        self.homes = homes
        try:
            yield
        finally:
            self.homes = {}

    @contextlib.contextmanager
    def forgetful(self):
        """While it is not known where members fit."""
        fitting, self.fitting = self.fitting, {}
        try:
            yield
        finally:
            self.fitting = fitting

    def covering(self, unit):
        """All guards that watch a unit, strict ones first."""
        return self.strict[unit] + self.soft[unit]

    def hosts(self, unit):
        """Where one more member of a unit may sit, soft policies aside."""
        hosts = self._hosts[unit]
        homes = [
            guard.domains[guard.home]
            for guard in self.covering(unit)
            if isinstance(guard, guards.Together) and guard.home is not None
        ]
        if homes:
            hosts = min(homes, key=len)
            hosts = hosts[self._may[unit][hosts]]
        hosts = hosts[self.room(unit, hosts) > 0]
        for guard in self.strict[unit]:
            hosts = guard.narrow(hosts)
        for guard in self._strangers[unit]:
            if guard.policy.strict:
                hosts = guard.narrow_stranger(hosts)
        return hosts

    def liked(self, unit, hosts, but=None):
        """Those of some hosts that soft policies like best.

        :param but: a guard that is not asked
        """
        for guard in self.soft[unit]:
            if guard is not but:
                liked = guard.narrow(hosts)
                hosts = liked if len(liked) else hosts
        for guard in self._strangers[unit]:
            liked = guard.narrow_stranger(hosts)
            hosts = liked if len(liked) else hosts
        return hosts

    def room(self, unit, hosts):
        """How many more members of a unit would fit on each of some hosts."""
        return self.board.room[self.board.class_of[unit], hosts]

    def at_most(self, unit, hosts):
        """The same, with the policies that count members on a host."""
        room = self.room(unit, hosts)
        for guard in self.strict[unit]:
            if isinstance(guard, guards.Apart) and guard.is_of_hosts:
                room = np.minimum(room, guard.most)
        return room

    def put(self, unit, host, way=None):
        """Seat a member; gives the number of the way it took."""
        self._count(unit, host, 1)
        return self.board.put(unit, host, way)

    def restore(self, unit, host, before):
        """Undo the last put(), to what the board remembers."""
        self._count(unit, host, -1)
        self.board.restore(host, before)

    def take(self, unit, host, way):
        """Undo a put()."""
        self._count(unit, host, -1)
        self.board.take(unit, host, way)

    def _count(self, unit, host, more):
        for guard in self.covering(unit):
            guard.count(host, more)
        for guard in self._strangers[unit]:
            guard.count_stranger(host, more)

    def _find_open(self, unit):
        open_ = self.board.may(unit)
        for scope in unit.scopes:
            open_ &= self.board.level(scope) >= 0
        return open_

    def _volumes(self):
        """What a member of each unit needs, as a share of what is free."""
        free = np.maximum(1, self.board.free.sum(axis=0, dtype=float))
        return {
            unit: float((self.board.need_of(unit) / free).sum())
            for unit in self.units
        }

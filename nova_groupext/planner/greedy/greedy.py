# SPDX-License-Identifier: Apache-2.0
"""Attempts to seat a group, each raising what failed before."""

import collections
import functools

import numpy as np

from nova_groupext.planner import clock as clocks
from nova_groupext.planner import rules
from nova_groupext.planner import units as unit_lists
from nova_groupext.planner.greedy import attempt as attempts
from nova_groupext.planner.greedy import guards
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import setting as settings

# How far from the best seat later attempts may stray.
_NOISE = 0.3


class Greedy:
    """Attempts at one problem with at least one host and one member to seat.

    :ivar seats: hosts that each unit might use, summed up
    :ivar wanted: unit -> how many of its members have to come
    :ivar most: of the best attempt that failed, the plan, lawful as far as it
        goes, and lists of the paths that go together and found no place
    """

    def __init__(self, problem):
        self.problem = problem
        self.setting = settings.Setting(problem)
        self.most = None
        self._turn = 0
        self._raised = collections.Counter()
        self._difficulty = {u: self._difficulty_of(u) for u in self._units}
        self._all = {unit: len(unit.members) for unit in self._units}
        self.wanted = self._find_least()

    def attempt(self, heeds_soft=True, clock=None):
        """One more attempt; gives a lawful plan or None.

        :param heeds_soft: whether soft policies count
        :param clock: clock.Clock that may break it off
        """
        some = self._turn % 2 and self.wanted != self._all
        wanted = self.wanted if some else self._all
        attempt = attempts.Attempt(
            *(self.setting, wanted, self._noise(), self._turn),
            *(heeds_soft, clock),
        )
        self._turn += 1
        try:
            return self._run(attempt, some, clock)
        except clocks.OutOfTime:
            return None
        finally:
            attempt.undo()

    def _run(self, attempt, some, clock):
        """The plan of an attempt, None if it has none.

        :param some: whether it seats no more members than have to come
        :raises clock.OutOfTime:
        """
        left = attempt.seat_most(self.order(self._units))
        if left:
            plan = self._note(attempt, left)
        else:
            plan = self._lawful(attempt)
            if plan and some:
                self._seat_more(attempt)
                plan = self._lawful(attempt) or plan
        # Once may be bad luck.
        if self._turn > 1:
            attempt.undo()
            for units in left:
                self._look_closely(units, clock)
        return plan

    def _look_closely(self, units, clock):
        """Find out where those that found no place would fit, alone."""
        levels = self.problem.levels
        strict = self.setting.strict[units[0]]
        for guard in sorted(
            strict, key=lambda g: levels.index(g.policy.scope)
        ):
            if guards.waits(guard):
                self.find_fitting(guard, clock)

    def find_fitting(self, guard, clock=None):
        """Domains where all members of a guard found a place, alone.

        :param guard: guards.Together that waits for a domain
        :param clock: clock.Clock
        :returns: their numbers, None if there was none
        :raises clock.OutOfTime:
        """
        fitting = self.setting.fitting
        if guard not in fitting:
            order = self.order(guard.units)
            found = self.prepare(clock).find_fitting(guard, order)
            if found:
                fitting[guard] = found
        return fitting.get(guard)

    def prepare(self, clock=None):
        """An attempt with the fewest members, which heeds no soft policy."""
        return attempts.Attempt(
            *(self.setting, self.wanted, self._noise(), self._turn),
            *(False, clock),
        )

    def _note(self, attempt, left):
        """Remember who found no place."""
        for units in left:
            self._raised.update(units)
        missing = [[p for u in units for p in u.members] for units in left]
        if self.most is None or len(missing) < len(self.most[1]):
            self.most = self._plan(attempt), missing

    @property
    def seats(self):
        return sum(len(self.setting.hosts(unit)) for unit in self._units)

    def pick_hosts(self, width, wanted=None):
        """Some hosts for each unit, other ones each time.

        :param width: how many times more of them than are needed
        :param wanted: unit -> how many members need one; all if left out
        :returns: unit -> ids of hosts
        """
        return self._scout.pick(wanted or self._all, width)

    def pick_hosts_for(self, paths, width):
        """Some hosts where some members would fit if nobody else came.

        :param paths: a set of members' paths
        :param width: how many times more hosts than are needed
        :returns: set of ids of hosts
        """
        wanted = {
            unit: len(paths.intersection(unit.members))
            for unit in self._units
            if not paths.isdisjoint(unit.members)
        }
        picked = self.pick_hosts(width, wanted)
        return {host for hosts in picked.values() for host in hosts}

    @functools.cached_property
    def _random(self):
        # Slow to import, and the first attempt makes do without it.
        return np.random.default_rng(self.problem.seed)

    @functools.cached_property
    def _scout(self):
        return scout.Scout(self.setting, self._random)

    @property
    def _units(self):
        return self.setting.units

    def _noise(self):
        size = len(self.setting.board.hosts)
        if not self._turn:
            return np.ones(size)
        return 1 + _NOISE * self._random.random(size)

    def order(self, units):
        """Some units, hardest first; what failed before counts as harder."""
        hard = self._find_hardness()
        some = [n for n, unit in enumerate(self._units) if unit in units]
        some.sort(key=lambda number: -hard[number])
        return [self._units[number] for number in some]

    def _find_hardness(self):
        strays = self._random.random(len(self._units)) if self._turn else 0
        raised = np.array([self._raised[unit] for unit in self._units])
        hard = np.array([self._difficulty[unit] for unit in self._units])
        rare = np.array([self._rarity(unit) for unit in self._units])
        return hard * 2.0**raised * rare * (1 + _NOISE * strays)

    def _rarity(self, unit):
        """How many domains there are for one that fits."""
        return max(
            (
                len(guard.domains) / len(self.setting.fitting[guard])
                for guard in self.setting.strict[unit]
                if guard in self.setting.fitting
            ),
            default=1,
        )

    def _difficulty_of(self, unit):
        """The share of an average domain that has to be found in one."""
        volumes = self.setting.volume
        hardest = volumes[unit] * len(self.problem.hosts)
        for guard in self.setting.strict[unit]:
            if isinstance(guard, guards.Together):
                together = sum(
                    volumes[u] * len(u.members) for u in guard.units
                )
                hardest = max(hardest, together * len(guard.domains))
        return hardest

    def _find_least(self):
        """How many members of each unit have to be placed."""
        least = {}
        pinned = self.problem.pinned
        missing = {
            stem.path: stem.min_count
            - sum(m.path in pinned for m in stem.members)
            for stem in self.problem.topology.stems
        }
        for unit in self._units:
            least[unit] = len(unit.members)
            if unit.optional:
                least[unit] = min(least[unit], max(0, missing[unit.optional]))
                missing[unit.optional] -= least[unit]
        return least

    def _seat_more(self, attempt):
        for unit in self.order(self._units):
            attempt.seat_more(unit, self._all[unit] - self.wanted[unit])

    def _lawful(self, attempt):
        """The plan that an attempt has come to, if the rules agree."""
        plan = self._plan(attempt)
        faults = rules.faults(self.problem, plan)
        places = {fault.at for fault in faults}
        costly = rules.costs(self.problem, plan.placement)
        for guard in self.setting.guards:
            policy = guard.policy
            if policy in costly or (policy.strict and policy.at in places):
                self._raised.update(guard.units)
        return None if faults else plan

    def _plan(self, attempt):
        hosts = self.setting.board.hosts
        seats = [(u, hosts[host], way) for u, host, way in attempt.seats()]
        return unit_lists.plan(self.problem, seats)

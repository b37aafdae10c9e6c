# SPDX-License-Identifier: Apache-2.0
"""Squeaky-wheel optimisation: classes that fail gain priority."""

import collections
import functools

import numpy as np

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import iteration
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations

# Perturbation of costs and priorities after the first iteration.
_NOISE = 0.3


class SqueakyWheel:
    """Squeaky-wheel search; needs a host and a member that is not pinned.

    :ivar wanted: equivalence class -> minimum number of members to place
    :ivar most: (best partial plan, unchecked; lists of paths of unplaced
        members that share a domain), None while no iteration left any out
    """

    def __init__(self, problem):
        self.problem = problem
        self.state = search_state.SearchState(problem)
        self.most = None
        self._turn = 0
        self._raised = collections.Counter()
        self._difficulty = {u: self._difficulty_of(u) for u in self._units}
        self._all = {unit: len(unit.members) for unit in self._units}
        self.wanted = self._find_least()

    def attempt(self, heeds_soft=True, budget=None):
        """Run one more iteration.

        :param heeds_soft: whether soft policies count
        :param budget: time_budget.TimeBudget that may end the iteration
        :returns: a feasible violations.Plan or None
        """
        some = self._turn % 2 and self.wanted != self._all
        wanted = self.wanted if some else self._all
        attempt = iteration.Construction(
            *(self.state, wanted, self._noise(), self._turn),
            *(heeds_soft, budget),
        )
        self._turn += 1
        try:
            return self._run(attempt, some, budget)
        except time_budget.OutOfTime:
            return None
        finally:
            attempt.undo()

    def _run(self, attempt, some, budget):
        """Return the plan of a construction, None if it has none.

        :param some: whether it starts with the minimum numbers of members
        :raises OutOfTime:
        """
        left = attempt.seat_most(self.order(self._units))
        if left:
            plan = self._note(attempt, left)
        else:
            plan = self._lawful(attempt)
            if plan and some:
                self._seat_more(attempt)
                plan = self._lawful(attempt) or plan
        # A first failure may be bad luck.
        if self._turn > 1:
            attempt.undo()
            for units in left:
                self._look_closely(units, budget)
        return plan

    def _look_closely(self, units, budget):
        """Find the domains where unplaced classes would fit without others."""
        levels = self.problem.levels
        strict = self.state.strict[units[0]]
        for propagator in sorted(
            strict, key=lambda g: levels.index(g.policy.scope)
        ):
            if propagators.needs_domain(propagator):
                self.find_fitting(propagator, budget)

    def find_fitting(self, propagator, budget=None):
        """Return the domains that take all members of a propagator alone.

        :param propagator: propagators.OneDomain that needs a domain
        :param budget: time_budget.TimeBudget
        :returns: numbers of the domains, None if construction found none
        :raises OutOfTime:
        """
        fitting = self.state.fitting
        if propagator not in fitting:
            order = self.order(propagator.units)
            found = self.prepare(budget).find_fitting(propagator, order)
            if found:
                fitting[propagator] = found
        return fitting.get(propagator)

    def prepare(self, budget=None):
        """Return a construction of minimum numbers without soft policies."""
        return iteration.Construction(
            *(self.state, self.wanted, self._noise(), self._turn),
            *(False, budget),
        )

    def _note(self, attempt, left):
        """Raise priorities of unplaced classes; keep the best partial plan."""
        for units in left:
            self._raised.update(units)
        missing = [[p for u in units for p in u.members] for units in left]
        if self.most is None or len(missing) < len(self.most[1]):
            self.most = self._plan(attempt), missing

    @property
    def seats(self):
        """Number of (equivalence class, host) pairs that may be used."""
        return sum(len(self.state.hosts(unit)) for unit in self._units)

    def pick_hosts(self, width, wanted=None):
        """Return a sample of candidate hosts for each class.

        :param width: factor of offered capacity over needed capacity
        :param wanted: class -> number of members; None for all members
        :returns: class -> ids of hosts
        """
        return self._scout.pick(wanted or self._all, width)

    def pick_hosts_for(self, paths, width):
        """Return a sample of candidate hosts for some members.

        :param paths: set of the members' paths
        :param width: factor of offered capacity over needed capacity
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
        # numpy.random is slow to import; the first iteration needs none.
        return np.random.default_rng(self.problem.seed)

    @functools.cached_property
    def _scout(self):
        return candidate_list.HostSampler(self.state, self._random)

    @property
    def _units(self):
        return self.state.units

    def _noise(self):
        size = len(self.state.matrices.hosts)
        if not self._turn:
            return np.ones(size)
        return 1 + _NOISE * self._random.random(size)

    def order(self, units):
        """Return some classes by falling priority."""
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
        """Return the most domains of a scope per domain known to fit."""
        return max(
            (
                len(propagator.domains) / len(self.state.fitting[propagator])
                for propagator in self.state.strict[unit]
                if propagator in self.state.fitting
            ),
            default=1,
        )

    def _difficulty_of(self, unit):
        """Return the demand on one domain or host, in average ones."""
        volumes = self.state.volume
        hardest = volumes[unit] * len(self.problem.hosts)
        for propagator in self.state.strict[unit]:
            if isinstance(propagator, propagators.OneDomain):
                together = sum(
                    volumes[u] * len(u.members) for u in propagator.units
                )
                hardest = max(hardest, together * len(propagator.domains))
        return hardest

    def _find_least(self):
        """Return the minimum number of members to place by class."""
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
        """Return the plan if it is feasible; raise priorities by its flaws."""
        plan = self._plan(attempt)
        faults = violations.find(self.problem, plan)
        places = {fault.at for fault in faults}
        costly = violations.costs(self.problem, plan.placement)
        for propagator in self.state.propagators:
            policy = propagator.policy
            if policy in costly or (policy.strict and policy.at in places):
                self._raised.update(propagator.units)
        return None if faults else plan

    def _plan(self, attempt):
        hosts = self.state.matrices.hosts
        seats = [(u, hosts[host], way) for u, host, way in attempt.seats()]
        return equivalence.plan(self.problem, seats)

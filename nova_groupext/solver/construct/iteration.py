# SPDX-License-Identifier: Apache-2.0
"""One greedy construction: each member goes where the loss is least.

Where members have to share a domain, the construction fixes the domain before
it assigns any of them. It skips domains that are too small by estimate, and
backtracks from one that turns out to be too small. It does not retry classes
in a domain where they failed while the domain's free amounts are the same.
"""

import numpy as np

from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import propagators

# Domains considered for the same members.
_TRIES = 12

# Orders in which the same members are assigned in the same domain.
_ORDERS = 4

# Domains tried, with all backtracking, for one bundle of classes.
_ALL_TRIES = 200


class Construction:
    """A construction that assigns members, and can undo its steps."""

    def __init__(
        self, state, wanted, noise, turn, heeds_soft=True, budget=None
    ):
        """Set the size of each propagator to what it will count.

        :param state: search_state.SearchState
        :param wanted: equivalence class -> number of members to assign
        :param noise: by host, factor on its opportunity cost
        :param turn: number of the iteration, selects among good choices
        :param heeds_soft: whether soft policies count
        :param budget: time_budget.TimeBudget or None; backtracking may exceed
            it, so methods that assign members raise OutOfTime at its end
        """
        self.state = state
        self._check_time = budget.check if budget else lambda: None
        self.wanted = wanted
        self.noise = noise
        self.turn = turn
        self._guards = state.covering if heeds_soft else state.strict.get
        self._heeds_soft = heeds_soft
        self._steps = []
        self._tries = 0
        self._failed = set()
        for propagator in state.propagators:
            here = int(propagator.counts.sum())
            propagator.size = here + sum(wanted[u] for u in propagator.units)

    def seat_most(self, units):
        """Assign the members of classes in this order, as far as possible.

        :returns: lists of classes that share a domain and remain unplaced
        """
        left = []
        for propagator, bundle in self._bundles(units):
            mark = len(self._steps)
            self._tries = 0
            if not self._seat_next(propagator, bundle):
                self.undo(mark)
                left += self._seat_parts(propagator, bundle)
        return left

    def find_fitting(self, propagator, units):
        """Return the domains that take all classes; undo every step."""
        fitting = []
        for domain in self.rank(propagator, units):
            self._tries = 0
            self._steps.append(propagator)
            propagator.settle(domain)
            try:
                if self._seat_all(units):
                    fitting.append(domain)
            finally:
                self.undo()
        return fitting

    def seat_more(self, unit, most):
        """Assign up to ``most`` more members of a class."""
        for _ in range(most):
            if not self._seat_one(unit):
                break

    def seats(self):
        """Return (class, host number, option) of every assigned member."""
        return [step[:3] for step in self._steps if isinstance(step, tuple)]

    def undo(self, mark=0):
        """Undo all steps but the first ``mark``."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            if isinstance(step, tuple):
                unit, host, _, before = step
                self.state.restore(unit, host, before)
            else:
                step.forget()

    def _seat_parts(self, propagator, units):
        """Assign a part of classes that cannot all be assigned together.

        :returns: as seat_most()
        """
        if propagator is None or not self._has_parts(propagator, units):
            return [units]
        home = None
        if propagator.policy.strict:
            ranked = self.rank(propagator, units)
            if not len(ranked):
                return [units]
            home = ranked[0]
        self._steps.append(propagator)
        propagator.settle(home)
        return self.seat_most(units)

    def _has_parts(self, propagator, units):
        """Check whether a policy is soft, or others bind parts of classes."""
        return not propagator.policy.strict or any(
            propagators.needs_domain(other) and other is not propagator
            for unit in units
            for other in self._guards(unit)
        )

    def _bundles(self, units):
        """Yield (propagator that needs a domain, its classes)."""
        todo = list(units)
        while todo:
            propagator = self._undecided(todo[0])
            bundle = todo[:1]
            if propagator is not None:
                bundle = [unit for unit in todo if unit in propagator.units]
            todo = [unit for unit in todo if unit not in bundle]
            yield propagator, bundle

    def _seat_all(self, units):
        """Assign all of some classes; those that fail go first next time."""
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
        """Assign classes in this order; return those that fail, or None."""
        for propagator, bundle in self._bundles(units):
            if not self._seat_next(propagator, bundle):
                return bundle
        return None

    def _seat_next(self, propagator, units):
        if propagator is None:
            return self._seat(units[0])
        return self._settle(propagator, units)

    def _undecided(self, unit):
        """Return the widest propagator of a class that needs a domain."""
        waiting = [
            g for g in self._guards(unit) if propagators.needs_domain(g)
        ]
        levels = self.state.problem.levels
        return max(
            waiting,
            key=lambda g: (levels.index(g.policy.scope), len(g.units)),
            default=None,
        )

    def _settle(self, propagator, units):
        """Fix a domain, or none if soft, and assign all of some classes."""
        self._check_time()
        mark = len(self._steps)
        for domain in self.rank(propagator, units)[:_TRIES]:
            state = self._state(propagator, domain, units)
            if state in self._failed:
                continue
            self._tries += 1
            if self._tries > _ALL_TRIES:
                break
            self._steps.append(propagator)
            propagator.settle(domain)
            if self._seat_all(units):
                return True
            self.undo(mark)
            if self._tries <= _ALL_TRIES:
                self._failed.add(state)
        if propagator.policy.strict:
            return False
        self._steps.append(propagator)
        propagator.settle(None)
        return self._seat_all(units)

    def _state(self, propagator, domain, units):
        """Return a heuristic key: policies may count other domains too."""
        free = self.state.matrices.free[propagator.domains[domain]]
        return propagator, domain, free.tobytes(), *units

    def rank(self, propagator, units):
        """Return the domains that may take some classes, by preference."""
        if propagator in self.state.homes:
            return np.array([self.state.homes[propagator]])
        hosts = {unit: self.state.hosts(unit) for unit in units}
        ranked = domain_ranking.rank(
            self.state, propagator, hosts, self.wanted, self.noise
        )
        if self._heeds_soft:
            ranked = self._liked(propagator, units[0], ranked)
        return ranked

    def _liked(self, propagator, unit, domains):
        """Return the domains with those first that soft policies prefer."""
        is_last = np.ones(len(propagator.domains), bool)
        liked = self.state.liked(unit, propagator.firsts[domains], propagator)
        is_last[propagator.domain_of[liked]] = False
        return domains[np.argsort(is_last[domains], kind='stable')]

    def _seat(self, unit):
        return all(self._seat_one(unit) for _ in range(self.wanted[unit]))

    def _seat_one(self, unit):
        self._check_time()
        self._choose(unit)
        hosts = self.state.hosts(unit)
        if not len(hosts):
            return False
        if self._heeds_soft:
            hosts = self.state.liked(unit, hosts)
        matrices = self.state.matrices
        loss = (
            matrices.loss[matrices.class_of[unit], hosts] * self.noise[hosts]
        )
        host = int(hosts[loss.argmin()])
        before = matrices.remember(host)
        way = self.state.put(unit, host)
        self._steps.append((unit, host, way, before))
        return True

    def _choose(self, unit):
        """Fix the domains over which the policies of a class spread."""
        for propagator in self._guards(unit):
            if propagator.is_open and isinstance(
                propagator, propagators.BalancedCounts
            ):
                self._steps.append(propagator)
                room = domain_ranking.room(self.state, propagator, self.wanted)
                propagator.choose(room, self.turn)

# SPDX-License-Identifier: Apache-2.0
"""One greedy construction: each member at the least opportunity cost.

Where members have to share a domain, the construction fixes the domain before
it assigns any of them. It skips domains that are too small by estimate, and
backtracks from one that turns out to be too small. It does not retry classes
in a domain where they failed while the domain's free amounts are the same.
"""

from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.construct.balanced_counts import BalancedCounts
from nova_groupext.solver.construct.propagators import OneDomain
from nova_groupext.solver.construct.propagators import Propagator
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model.equivalence import ClassDemand
from nova_groupext.solver.model.equivalence import EquivalenceClass

#: Assigned member: its class, and the numbers of its host and option. Tuples
#: are faster than named ones, of which a construction makes many.
Assignment: TypeAlias = tuple[EquivalenceClass, int, int]

# Choice of a domain or of several, or assignment with the host's state before.
_Step: TypeAlias = (
    OneDomain
    | BalancedCounts
    | tuple[EquivalenceClass, int, int, capacity_matrices.HostState]
)


class Construction:
    """A construction that assigns members, and can undo its steps."""

    def __init__(
        self,
        state: search_state.SearchState,
        demand: ClassDemand,
        perturbation: Floats,
        number: int,
        respects_soft: bool = True,
        budget: time_budget.TimeBudget | None = None,
    ) -> None:
        """Set the final count of each propagator.

        :param demand: members to assign
        :param perturbation: by host, factor on its opportunity cost
        :param number: number of the iteration, selects among good choices
        :param respects_soft: whether soft policies count
        :param budget: backtracking may exceed it, so methods that assign
            members raise OutOfTime at its end
        """
        self.state = state
        self._check_time = budget.check if budget else lambda: None
        self.demand = demand
        self.perturbation = perturbation
        self.number = number
        self._respects_soft = respects_soft
        # Members that stay are a start; where they count, one in two tries it.
        self._respects_current = number == 0 or (
            state.problem.keeps_current and number % 2 == 0
        )
        self._steps: list[_Step] = []
        self._tries = 0
        self._failed_keys: set[Hashable] = set()
        for propagator in state.propagators:
            assigned_count = int(propagator.counts.sum())
            propagator.final_count = assigned_count + sum(
                demand[eq_class] for eq_class in propagator.eq_classes
            )

    def assign_possible(
        self, eq_classes: Sequence[EquivalenceClass]
    ) -> list[list[EquivalenceClass]]:
        """Assign the members of classes in this order, as far as possible.

        :returns: lists of classes that share a domain and remain unplaced
        """
        unplaced: list[list[EquivalenceClass]] = []
        for propagator, colocated in self._colocated_groups(eq_classes):
            step_count = len(self._steps)
            self._tries = 0
            if not self._assign_next(propagator, colocated):
                self.undo(step_count)
                unplaced += self._assign_partially(propagator, colocated)
        return unplaced

    def find_fitting_domains(
        self, propagator: OneDomain, eq_classes: list[EquivalenceClass]
    ) -> list[int]:
        """Return the domains that take all classes; undo every step."""
        fitting = []
        for domain in self.rank_domains(propagator, eq_classes):
            self._tries = 0
            self._steps.append(propagator)
            propagator.fix_domain(domain)
            try:
                if self._assign_all(eq_classes):
                    fitting.append(domain)
            finally:
                self.undo()
        return fitting

    def assign_more(self, eq_class: EquivalenceClass, max_count: int) -> None:
        """Assign up to ``max_count`` more members of a class."""
        for _ in range(max_count):
            if not self._assign_one(eq_class):
                break

    def assignments(self) -> list[Assignment]:
        """Return the assigned members."""
        return [step[:3] for step in self._steps if isinstance(step, tuple)]

    def undo(self, step_count: int = 0) -> None:
        """Undo all steps but the first ``step_count``."""
        while len(self._steps) > step_count:
            step = self._steps.pop()
            if isinstance(step, tuple):
                eq_class, host, _, saved = step
                self.state.restore(eq_class, host, saved)
            else:
                step.unfix_domain()

    def _assign_partially(
        self,
        propagator: OneDomain | None,
        eq_classes: list[EquivalenceClass],
    ) -> list[list[EquivalenceClass]]:
        """Assign a part of classes that cannot all be assigned together.

        :returns: as assign_possible()
        """
        if propagator is None or not self._can_split(propagator, eq_classes):
            return [eq_classes]
        fixed_domain = None
        if propagator.policy.strict:
            ranked = self.rank_domains(propagator, eq_classes)
            if not len(ranked):
                return [eq_classes]
            fixed_domain = ranked[0]
        self._steps.append(propagator)
        propagator.fix_domain(fixed_domain)
        return self.assign_possible(eq_classes)

    def _can_split(
        self, propagator: OneDomain, eq_classes: Sequence[EquivalenceClass]
    ) -> bool:
        """Check whether a policy is soft, or others bind parts of classes."""
        return not propagator.policy.strict or any(
            other is not propagator
            for eq_class in eq_classes
            for other in self._undecided(eq_class)
        )

    def _colocated_groups(
        self, eq_classes: Sequence[EquivalenceClass]
    ) -> Iterator[tuple[OneDomain | None, list[EquivalenceClass]]]:
        """Yield propagators that need a domain, with their classes."""
        remaining = list(eq_classes)
        while remaining:
            propagator = self._find_widest(remaining[0])
            colocated = remaining[:1]
            if propagator is not None:
                colocated = [
                    eq_class
                    for eq_class in remaining
                    if eq_class in propagator.eq_classes
                ]
            remaining = [
                eq_class for eq_class in remaining if eq_class not in colocated
            ]
            yield propagator, colocated

    def _assign_all(self, eq_classes: list[EquivalenceClass]) -> bool:
        """Assign all of some classes; retry with those that fail first."""
        step_count = len(self._steps)
        for _ in range(tuning.MAX_ORDERS):
            failed = self._assign_in_order(eq_classes)
            if failed is None:
                return True
            self.undo(step_count)
            if eq_classes[0] in failed:
                break
            eq_classes = failed + [
                eq_class for eq_class in eq_classes if eq_class not in failed
            ]
        return False

    def _assign_in_order(
        self, eq_classes: Sequence[EquivalenceClass]
    ) -> list[EquivalenceClass] | None:
        """Assign classes in this order; return those that fail, or None."""
        for propagator, colocated in self._colocated_groups(eq_classes):
            if not self._assign_next(propagator, colocated):
                return colocated
        return None

    def _assign_next(
        self,
        propagator: OneDomain | None,
        eq_classes: list[EquivalenceClass],
    ) -> bool:
        if propagator is None:
            return self._assign(eq_classes[0])
        return self._assign_in_domain(propagator, eq_classes)

    def _undecided(self, eq_class: EquivalenceClass) -> list[OneDomain]:
        """Return the propagators of a class that need a domain."""
        return [
            propagator
            for propagator in self.state.one_domain[eq_class]
            if propagator.is_open and self._respects(propagator)
        ]

    def _respects(self, propagator: Propagator) -> bool:
        return self._respects_soft or propagator.policy.strict

    def _find_widest(self, eq_class: EquivalenceClass) -> OneDomain | None:
        """Return the widest propagator of a class that needs a domain."""
        levels = self.state.problem.levels
        return max(
            self._undecided(eq_class),
            key=lambda propagator: (
                levels.index(propagator.policy.scope),
                len(propagator.eq_classes),
            ),
            default=None,
        )

    def _assign_in_domain(
        self, propagator: OneDomain, eq_classes: list[EquivalenceClass]
    ) -> bool:
        """Fix a domain, or none if soft, and assign all of some classes."""
        self._check_time()
        step_count = len(self._steps)
        for domain in self.rank_domains(propagator, eq_classes)[
            : tuning.MAX_DOMAINS
        ]:
            key = self._failure_key(propagator, domain, eq_classes)
            if key in self._failed_keys:
                continue
            self._tries += 1
            if self._tries > tuning.MAX_TRIES:
                break
            self._steps.append(propagator)
            propagator.fix_domain(domain)
            if self._assign_all(eq_classes):
                return True
            self.undo(step_count)
            if self._tries <= tuning.MAX_TRIES:
                self._failed_keys.add(key)
        if propagator.policy.strict:
            return False
        self._steps.append(propagator)
        propagator.fix_domain(None)
        return self._assign_all(eq_classes)

    def _failure_key(
        self,
        propagator: OneDomain,
        domain: int,
        eq_classes: Sequence[EquivalenceClass],
    ) -> Hashable:
        """Return a heuristic key: policies may count other domains too."""
        free = self.state.matrices.free[propagator.domains[domain]]
        return propagator, domain, free.tobytes(), *eq_classes

    def rank_domains(
        self, propagator: OneDomain, eq_classes: Sequence[EquivalenceClass]
    ) -> Ints:
        """Return the domains that may take some classes, by preference."""
        if propagator in self.state.prescribed:
            return np.array([self.state.prescribed[propagator]])
        hosts = {
            eq_class: self.state.hosts(eq_class) for eq_class in eq_classes
        }
        ranked = domain_ranking.rank_domains(
            *(self.state, propagator, hosts, self.demand, self.perturbation),
            only_fitting=True,
        )
        if self._respects_soft:
            ranked = self._sort_by_preference(
                propagator, eq_classes[0], ranked
            )
        if self._respects_current:
            members = {each: self.demand[each] for each in eq_classes}
            ranked = domain_ranking.sort_by_current(
                self.state, propagator, members, ranked
            )
        return ranked

    def _sort_by_preference(
        self, propagator: OneDomain, eq_class: EquivalenceClass, domains: Ints
    ) -> Ints:
        """Return the domains with those first that soft policies prefer."""
        is_last = np.ones(len(propagator.domains), bool)
        preferred = self.state.preferred(
            eq_class, propagator.level.first_hosts[domains], propagator
        )
        is_last[propagator.domain_of[preferred]] = False
        return domains[np.argsort(is_last[domains], kind='stable')]

    def _assign(self, eq_class: EquivalenceClass) -> bool:
        return all(
            self._assign_one(eq_class) for _ in range(self.demand[eq_class])
        )

    def _assign_one(self, eq_class: EquivalenceClass) -> bool:
        self._check_time()
        self._choose_domains(eq_class)
        hosts = self.state.hosts(eq_class)
        if not len(hosts):
            return False
        if self._respects_current:
            hosts = self.state.staying(eq_class, hosts)
        if self._respects_soft:
            hosts = self.state.preferred(eq_class, hosts)
        matrices = self.state.matrices
        opportunity_cost = (
            matrices.opportunity_cost[matrices.class_of[eq_class], hosts]
            * self.perturbation[hosts]
        )
        host = int(hosts[opportunity_cost.argmin()])
        saved = matrices.save(host)
        option = self.state.assign(eq_class, host)
        self._steps.append((eq_class, host, option, saved))
        return True

    def _choose_domains(self, eq_class: EquivalenceClass) -> None:
        """Fix the domains over which the policies of a class spread."""
        for propagator in self.state.balanced[eq_class]:
            if propagator.is_open and self._respects(propagator):
                self._steps.append(propagator)
                capacity = domain_ranking.estimate_capacity(
                    self.state, propagator, self.demand
                )
                propagator.choose_domains(capacity, self.number)

# SPDX-License-Identifier: Apache-2.0
"""Squeaky-wheel optimisation: classes that fail gain priority."""

import collections
from collections.abc import Collection
from collections.abc import Sequence
import contextlib
import functools

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import iteration
from nova_groupext.solver.construct import partial_plan
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import ClassDemand
from nova_groupext.solver.model.equivalence import EquivalenceClass


class SqueakyWheel:
    """Squeaky-wheel search; needs a host and a member that is not pinned.

    :ivar min_demand: minimum number of members to place
    :ivar best_partial: best partial plan, unchecked; None before the first
    """

    def __init__(self, problem: problems.Problem) -> None:
        self.problem = problem
        self.state = search_state.SearchState(problem)
        self.best_partial: partial_plan.PartialPlan | None = None
        self._iteration_count = 0
        self._failure_counts = collections.Counter[EquivalenceClass]()
        self._difficulty = {
            eq_class: self._difficulty_of(eq_class)
            for eq_class in self._eq_classes
        }
        self._full_demand = {
            eq_class: len(eq_class.members) for eq_class in self._eq_classes
        }
        self.min_demand = self._find_min_demand()

    def run_iteration(
        self,
        respects_soft: bool = True,
        budget: time_budget.TimeBudget | None = None,
    ) -> violations.Plan | None:
        """Run one more iteration.

        :param respects_soft: whether soft policies count
        :param budget: budget that may end the iteration
        :returns: a feasible plan or None
        """
        is_minimal = (
            self._iteration_count % 2 == 1
            and self.min_demand != self._full_demand
        )
        demand = self.min_demand if is_minimal else self._full_demand
        construction = iteration.Construction(
            self.state,
            demand,
            self._perturbation(),
            self._iteration_count,
            respects_soft,
            budget,
        )
        self._iteration_count += 1
        try:
            return self._run(construction, is_minimal, budget)
        except time_budget.OutOfTime:
            return None
        finally:
            construction.undo()

    def _run(
        self,
        construction: iteration.Construction,
        is_minimal: bool,
        budget: time_budget.TimeBudget | None,
    ) -> violations.Plan | None:
        """Return the plan of a construction, None if it has none.

        :param is_minimal: whether it starts with the minimum demand
        :raises OutOfTime:
        """
        unplaced = construction.assign_possible(self.order(self._eq_classes))
        if unplaced:
            plan = None
            self._record_failure(construction, unplaced)
        else:
            plan = self._check_plan(construction)
            if plan and is_minimal:
                self._assign_more(construction)
                plan = self._check_plan(construction) or plan
        # A first failure may be bad luck.
        if self._iteration_count > 1:
            construction.undo()
            for eq_classes in unplaced:
                self._find_fitting(eq_classes, budget)
        return plan

    def find_all_fitting(self, budget: time_budget.TimeBudget) -> None:
        """Find the domains where classes that share one fit without others."""
        with contextlib.suppress(time_budget.OutOfTime):
            for eq_class in self._eq_classes:
                self._find_fitting([eq_class], budget)

    def _find_fitting(
        self,
        eq_classes: Sequence[EquivalenceClass],
        budget: time_budget.TimeBudget | None,
    ) -> None:
        """Find the domains where some classes would fit without others."""
        levels = self.problem.levels
        for propagator in sorted(
            self.state.one_domain[eq_classes[0]],
            key=lambda propagator: levels.index(propagator.policy.scope),
        ):
            if propagator.policy.strict and propagator.is_open:
                self.find_fitting_domains(propagator, budget)

    def find_fitting_domains(
        self,
        propagator: propagators.OneDomain,
        budget: time_budget.TimeBudget | None = None,
    ) -> list[int] | None:
        """Return the domains that take all members of a propagator alone.

        :param propagator: propagator that needs a domain
        :returns: numbers of the domains, None if construction found none
        :raises OutOfTime:
        """
        fitting = self.state.fitting
        if propagator not in fitting:
            order = self.order(propagator.eq_classes)
            domains = self.create_construction(budget).find_fitting_domains(
                propagator, order
            )
            if domains:
                fitting[propagator] = domains
        return fitting.get(propagator)

    def create_construction(
        self, budget: time_budget.TimeBudget | None = None
    ) -> iteration.Construction:
        """Return a construction of the minimum demand, soft policies aside."""
        return iteration.Construction(
            self.state,
            self.min_demand,
            self._perturbation(),
            self._iteration_count,
            False,
            budget,
        )

    def _record_failure(
        self,
        construction: iteration.Construction,
        unplaced: list[list[EquivalenceClass]],
    ) -> None:
        """Raise priorities of unplaced classes; keep the best partial plan."""
        for eq_classes in unplaced:
            self._failure_counts.update(eq_classes)
        unplaced_paths = [
            [path for eq_class in eq_classes for path in eq_class.members]
            for eq_classes in unplaced
        ]
        if self.best_partial is None or len(unplaced_paths) < len(
            self.best_partial.unplaced
        ):
            self.best_partial = partial_plan.PartialPlan(
                self._plan(construction), unplaced_paths
            )

    @property
    def variable_count(self) -> int:
        """Number of (equivalence class, host) pairs that may be assigned."""
        return sum(
            len(self.state.hosts(eq_class)) for eq_class in self._eq_classes
        )

    def sample_hosts(
        self,
        limits: candidate_list.CandidateLimits,
        demand: ClassDemand | None = None,
        plan: violations.Plan | None = None,
    ) -> dict[EquivalenceClass, list[HostId]]:
        """Return a sample of candidate hosts for each class.

        :param demand: None for all members
        :param plan: plan whose hosts and domains are candidates, too
        """
        return self._sampler.sample(demand or self._full_demand, limits, plan)

    def sample_hosts_for(
        self, paths: set[Path], capacity: float
    ) -> set[HostId]:
        """Return a sample of candidate hosts for some members.

        :param capacity: of the sample over what they need
        """
        demand = {
            eq_class: len(paths.intersection(eq_class.members))
            for eq_class in self._eq_classes
            if not paths.isdisjoint(eq_class.members)
        }
        sampled = self.sample_hosts(candidate_list.narrow(capacity), demand)
        return {host for hosts in sampled.values() for host in hosts}

    @functools.cached_property
    def _random(self) -> np.random.Generator:
        # numpy.random is slow to import; the first iteration needs none.
        return np.random.default_rng(self.problem.seed)

    @functools.cached_property
    def _sampler(self) -> candidate_list.HostSampler:
        return candidate_list.HostSampler(self.state, self._random)

    @property
    def _eq_classes(self) -> list[EquivalenceClass]:
        return self.state.eq_classes

    def _perturbation(self) -> Floats:
        size = len(self.state.matrices.hosts)
        if not self._iteration_count:
            return np.ones(size)
        return 1 + tuning.PERTURBATION * self._random.random(size)

    def order(
        self, eq_classes: Collection[EquivalenceClass]
    ) -> list[EquivalenceClass]:
        """Return some classes by falling priority."""
        priorities = self._find_priorities()
        numbers = [
            n
            for n, eq_class in enumerate(self._eq_classes)
            if eq_class in eq_classes
        ]
        numbers.sort(key=lambda number: -priorities[number])
        return [self._eq_classes[number] for number in numbers]

    def _find_priorities(self) -> Floats:
        perturbation = (
            self._random.random(len(self._eq_classes))
            if self._iteration_count
            else np.zeros(1)
        )
        failure_counts = np.array(
            [self._failure_counts[eq_class] for eq_class in self._eq_classes]
        )
        difficulty = np.array(
            [self._difficulty[eq_class] for eq_class in self._eq_classes]
        )
        scarcity = np.array(
            [
                self._find_domain_scarcity(eq_class)
                for eq_class in self._eq_classes
            ]
        )
        priorities: Floats = (
            difficulty
            * 2.0**failure_counts
            * scarcity
            * (1 + tuning.PERTURBATION * perturbation)
        )
        return priorities

    def _find_domain_scarcity(self, eq_class: EquivalenceClass) -> float:
        """Return the greatest number of domains per domain known to fit."""
        return max(
            (
                len(propagator.domains) / len(self.state.fitting[propagator])
                for propagator in self.state.strict[eq_class]
                if propagator in self.state.fitting
            ),
            default=1,
        )

    def _difficulty_of(self, eq_class: EquivalenceClass) -> float:
        """Return the demand on one domain or host, in average ones."""
        volumes = self.state.volume
        difficulty = volumes[eq_class] * len(self.problem.hosts)
        for propagator in self.state.strict[eq_class]:
            if propagator.binds_one_domain:
                total = sum(
                    volumes[eq_class] * len(eq_class.members)
                    for eq_class in propagator.eq_classes
                )
                difficulty = max(difficulty, total * len(propagator.domains))
        return difficulty

    def _find_min_demand(self) -> dict[EquivalenceClass, int]:
        """Return the minimum number of members to place by class."""
        min_demand = {}
        required = {
            member_set.path: assumptions.count_required(
                self.problem, member_set
            )
            for member_set in self.problem.topology.member_sets
        }
        for eq_class in self._eq_classes:
            min_demand[eq_class] = len(eq_class.members)
            if eq_class.optional:
                min_demand[eq_class] = min(
                    min_demand[eq_class], required[eq_class.optional]
                )
                required[eq_class.optional] -= min_demand[eq_class]
        return min_demand

    def _assign_more(self, construction: iteration.Construction) -> None:
        for eq_class in self.order(self._eq_classes):
            construction.assign_more(
                eq_class,
                self._full_demand[eq_class] - self.min_demand[eq_class],
            )

    def _check_plan(
        self, construction: iteration.Construction
    ) -> violations.Plan | None:
        """Return the plan if feasible; raise priorities by its violations."""
        plan = self._plan(construction)
        found = violations.find(self.problem, plan)
        violated_paths = {violation.at for violation in found}
        costs = violations.costs(self.problem, plan.placement)
        for propagator in self.state.propagators:
            policy = propagator.policy
            if policy in costs or (
                policy.strict and policy.at in violated_paths
            ):
                self._failure_counts.update(propagator.eq_classes)
        return None if found else plan

    def _plan(self, construction: iteration.Construction) -> violations.Plan:
        hosts = self.state.matrices.hosts
        assignments = [
            (eq_class, hosts[host], option)
            for eq_class, host, option in construction.assignments()
        ]
        return equivalence.to_plan(self.problem, assignments)

# SPDX-License-Identifier: Apache-2.0
"""Squeaky-wheel optimisation: classes that fail gain priority."""

import collections
import functools

import numpy as np

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import iteration
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations

# Perturbation of costs and priorities after the first iteration.
_PERTURBATION = 0.3


class SqueakyWheel:
    """Squeaky-wheel search; needs a host and a member that is not pinned.

    :ivar min_demand: equivalence class -> minimum number of members to place
    :ivar best_partial: (best partial plan, unchecked; lists of paths of
        unplaced members that share a domain), None before the first
    """

    def __init__(self, problem):
        self.problem = problem
        self.state = search_state.SearchState(problem)
        self.best_partial = None
        self._iteration_count = 0
        self._failure_counts = collections.Counter()
        self._difficulty = {
            eq_class: self._difficulty_of(eq_class)
            for eq_class in self._eq_classes
        }
        self._full_demand = {
            eq_class: len(eq_class.members) for eq_class in self._eq_classes
        }
        self.min_demand = self._find_min_demand()

    def run_iteration(self, heeds_soft=True, budget=None):
        """Run one more iteration.

        :param heeds_soft: whether soft policies count
        :param budget: time_budget.TimeBudget that may end the iteration
        :returns: a feasible violations.Plan or None
        """
        is_minimal = (
            self._iteration_count % 2 and self.min_demand != self._full_demand
        )
        demand = self.min_demand if is_minimal else self._full_demand
        construction = iteration.Construction(
            *(
                self.state,
                demand,
                self._perturbation(),
                self._iteration_count,
            ),
            *(heeds_soft, budget),
        )
        self._iteration_count += 1
        try:
            return self._run(construction, is_minimal, budget)
        except time_budget.OutOfTime:
            return None
        finally:
            construction.undo()

    def _run(self, construction, is_minimal, budget):
        """Return the plan of a construction, None if it has none.

        :param is_minimal: whether it starts with the minimum demand
        :raises OutOfTime:
        """
        unplaced = construction.assign_possible(self.order(self._eq_classes))
        if unplaced:
            plan = self._record_failure(construction, unplaced)
        else:
            plan = self._check_plan(construction)
            if plan and is_minimal:
                self._assign_more(construction)
                plan = self._check_plan(construction) or plan
        # A first failure may be bad luck.
        if self._iteration_count > 1:
            construction.undo()
            for eq_classes in unplaced:
                self._find_all_fitting(eq_classes, budget)
        return plan

    def _find_all_fitting(self, eq_classes, budget):
        """Find the domains where unplaced classes would fit without others."""
        levels = self.problem.levels
        strict = self.state.strict[eq_classes[0]]
        for propagator in sorted(
            strict,
            key=lambda propagator: levels.index(propagator.policy.scope),
        ):
            if propagator.needs_domain:
                self.find_fitting_domains(propagator, budget)

    def find_fitting_domains(self, propagator, budget=None):
        """Return the domains that take all members of a propagator alone.

        :param propagator: propagators.OneDomain that needs a domain
        :param budget: time_budget.TimeBudget
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

    def create_construction(self, budget=None):
        """Return a construction of the minimum demand, soft policies aside."""
        return iteration.Construction(
            *(
                self.state,
                self.min_demand,
                self._perturbation(),
                self._iteration_count,
            ),
            *(False, budget),
        )

    def _record_failure(self, construction, unplaced):
        """Raise priorities of unplaced classes; keep the best partial plan."""
        for eq_classes in unplaced:
            self._failure_counts.update(eq_classes)
        unplaced_paths = [
            [path for eq_class in eq_classes for path in eq_class.members]
            for eq_classes in unplaced
        ]
        if self.best_partial is None or len(unplaced_paths) < len(
            self.best_partial[1]
        ):
            self.best_partial = self._plan(construction), unplaced_paths

    @property
    def variable_count(self):
        """Number of (equivalence class, host) pairs that may be assigned."""
        return sum(
            len(self.state.hosts(eq_class)) for eq_class in self._eq_classes
        )

    def sample_hosts(self, ratio, demand=None):
        """Return a sample of candidate hosts for each class.

        :param ratio: capacity of the sample over the capacity needed
        :param demand: class -> number of members; None for all members
        :returns: class -> ids of hosts
        """
        return self._sampler.sample(demand or self._full_demand, ratio)

    def sample_hosts_for(self, paths, ratio):
        """Return a sample of candidate hosts for some members.

        :param paths: set of the members' paths
        :param ratio: capacity of the sample over the capacity needed
        :returns: set of ids of hosts
        """
        demand = {
            eq_class: len(paths.intersection(eq_class.members))
            for eq_class in self._eq_classes
            if not paths.isdisjoint(eq_class.members)
        }
        sampled = self.sample_hosts(ratio, demand)
        return {host for hosts in sampled.values() for host in hosts}

    @functools.cached_property
    def _random(self):
        # numpy.random is slow to import; the first iteration needs none.
        return np.random.default_rng(self.problem.seed)

    @functools.cached_property
    def _sampler(self):
        return candidate_list.HostSampler(self.state, self._random)

    @property
    def _eq_classes(self):
        return self.state.eq_classes

    def _perturbation(self):
        size = len(self.state.matrices.hosts)
        if not self._iteration_count:
            return np.ones(size)
        return 1 + _PERTURBATION * self._random.random(size)

    def order(self, eq_classes):
        """Return some classes by falling priority."""
        priorities = self._find_priorities()
        numbers = [
            n
            for n, eq_class in enumerate(self._eq_classes)
            if eq_class in eq_classes
        ]
        numbers.sort(key=lambda number: -priorities[number])
        return [self._eq_classes[number] for number in numbers]

    def _find_priorities(self):
        perturbation = (
            self._random.random(len(self._eq_classes))
            if self._iteration_count
            else 0
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
        return (
            difficulty
            * 2.0**failure_counts
            * scarcity
            * (1 + _PERTURBATION * perturbation)
        )

    def _find_domain_scarcity(self, eq_class):
        """Return the greatest number of domains per domain known to fit."""
        return max(
            (
                len(propagator.domains) / len(self.state.fitting[propagator])
                for propagator in self.state.strict[eq_class]
                if propagator in self.state.fitting
            ),
            default=1,
        )

    def _difficulty_of(self, eq_class):
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

    def _find_min_demand(self):
        """Return the minimum number of members to place by class."""
        min_demand = {}
        pinned = self.problem.pinned
        required = {
            member_set.path: member_set.min_count
            - sum(m.path in pinned for m in member_set.members)
            for member_set in self.problem.topology.member_sets
        }
        for eq_class in self._eq_classes:
            min_demand[eq_class] = len(eq_class.members)
            if eq_class.optional:
                min_demand[eq_class] = min(
                    min_demand[eq_class], max(0, required[eq_class.optional])
                )
                required[eq_class.optional] -= min_demand[eq_class]
        return min_demand

    def _assign_more(self, construction):
        for eq_class in self.order(self._eq_classes):
            construction.assign_more(
                eq_class,
                self._full_demand[eq_class] - self.min_demand[eq_class],
            )

    def _check_plan(self, construction):
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

    def _plan(self, construction):
        hosts = self.state.matrices.hosts
        assignments = [
            (eq_class, hosts[host], option)
            for eq_class, host, option in construction.assignments()
        ]
        return equivalence.to_plan(self.problem, assignments)

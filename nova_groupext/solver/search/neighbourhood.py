# SPDX-License-Identifier: Apache-2.0
"""Large neighbourhood search: the best plans that differ in a few members.

Each neighbourhood frees random members: those of a policy that has a cost,
with all that must share a domain with them, or any. The others keep their
hosts, and the integer program optimises the free ones.
"""

import collections
from collections.abc import Iterator
import heapq

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import EquivalenceClass
from nova_groupext.solver.policies import base
from nova_groupext.solver.search.incumbent import Incumbent


def search(
    incumbent: Incumbent, budget: time_budget.TimeBudget
) -> Iterator[violations.Plan]:
    """Yield better plans near the incumbent.

    :param incumbent: offer it each plan before the next
    :returns: feasible plans; some are no improvement
    """
    local_search = _LocalSearch(incumbent)
    if local_search.displaced_members():
        yield local_search.return_members(budget)
    idle_steps = 0
    while idle_steps < tuning.MAX_IDLE_STEPS and budget.remaining():
        objective = incumbent.objective
        yield local_search.step(budget)
        idle_steps = 0 if incumbent.objective > objective else idle_steps + 1


class _LocalSearch:
    def __init__(self, incumbent: Incumbent) -> None:
        self.incumbent = incumbent
        self.problem = incumbent.problem
        self.class_limit: float = tuning.INITIAL_CLASSES
        self._random = np.random.default_rng(incumbent.problem.seed)
        self._assigned = assignment.AssignmentState(
            incumbent.problem, incumbent.plan
        )
        self._sampler = candidate_list.HostSampler(
            self._assigned.state, self._random
        )
        self._eq_classes = self._assigned.state.eq_classes
        self._colocated_groups = self._find_colocated_groups()
        self._hosts_at: dict[Level, dict[Domain | None, set[HostId]]] = {}

    def step(self, budget: time_budget.TimeBudget) -> violations.Plan:
        """Return the best plan of one neighbourhood."""
        policy = self._draw_policy()
        returning = self._draw_returning()
        targets = {self.problem.current[path] for path in returning}
        targets = targets or self._draw_targets(policy)
        moving = self._draw_members(policy, targets) | returning
        return self._solve(moving, self._hosts(moving, targets), budget)

    def return_members(
        self, budget: time_budget.TimeBudget
    ) -> violations.Plan:
        """Return the best plan in which members only go where they were."""
        moving = self.displaced_members()
        placement = self.incumbent.plan.placement
        hosts = {
            part: {
                *(placement[path] for path in part.members),
                *part.current,
            }
            for part in self._assigned.restrict_classes(moving).values()
        }
        return self._solve(moving, hosts, budget)

    def displaced_members(self) -> set[Path]:
        """Return the placed members that are to return to where they were."""
        if not self.problem.keeps_current:
            return set()
        placement = self.incumbent.plan.placement
        return {
            path
            for path, host in self.problem.may_stay.items()
            if placement.get(path, host) != host
        }

    def _solve(
        self,
        moving: set[Path],
        hosts: dict[EquivalenceClass, set[HostId]],
        budget: time_budget.TimeBudget,
    ) -> violations.Plan:
        """Return the best plan with some members on some hosts."""
        from nova_groupext.solver.exact import objectives

        plan = self.incumbent.plan
        fixed = subproblem.fix_others(self.problem, plan, moving)
        part = subproblem.restrict_hosts(fixed, hosts)
        try:
            exact = objectives.ExactSolver(
                part, budget.slice(tuning.NEIGHBOURHOOD_SECONDS)
            )
            exact.start_from(plan)
            for _, step in exact.steps():
                step()
        except time_budget.OutOfTime:
            self._scale_class_limit(0.8)
            return plan
        # Free as many members as can be optimised within a slice.
        self._scale_class_limit(1.1 if exact.is_proved else 0.8)
        return subproblem.restore_alternatives(plan, exact.incumbent.plan)

    def _scale_class_limit(self, factor: float) -> None:
        self.class_limit = min(
            tuning.MAX_CLASSES,
            max(tuning.MIN_CLASSES, self.class_limit * factor),
        )

    def _draw_policy(self) -> base.Policy | None:
        """Draw a policy that has a cost, costly ones more often, or None."""
        costs = violations.costs(self.problem, self.incumbent.plan.placement)
        if not costs or self._random.random() < 0.1:
            return None
        shares = np.sqrt(np.array([float(cost) for cost in costs.values()]))
        number = self._random.choice(len(costs), p=shares / shares.sum())
        return list(costs)[number]

    def _draw_returning(self) -> set[Path]:
        """Draw some members that may return to where they were, or none."""
        displaced = sorted(self.displaced_members())
        if not displaced or self._random.integers(2):
            return set()
        self._random.shuffle(displaced)
        return set(displaced[: tuning.MAX_TARGET_DOMAINS])

    def _draw_targets(self, policy: base.Policy | None) -> set[HostId]:
        """Draw domains for the members of a policy; return their hosts."""
        if policy is None:
            return set()
        problem = self.problem
        domains = list(
            violations.count(problem, policy, self.incumbent.plan.placement)
        )
        if self._random.random() < tuning.ALL_DOMAINS_PROBABILITY:
            domains = list(self._hosts_by_domain(policy.scope))
        drawn = {
            domains[number]
            for number in self._random.permutation(len(domains))[
                : self._random.integers(1, tuning.MAX_TARGET_DOMAINS + 1)
            ]
        }
        hosts_by_domain = self._hosts_by_domain(policy.scope)
        return set[HostId]().union(
            *(hosts_by_domain[domain] for domain in drawn)
        )

    def _draw_members(
        self, policy: base.Policy | None, targets: set[HostId]
    ) -> set[Path]:
        """Draw members to free, with those on the targets or unplaced."""
        placement = self.incumbent.plan.placement
        eq_classes = self._eq_classes
        if policy is not None:
            eq_classes = equivalence.covered(eq_classes, policy.paths)
        moving: set[EquivalenceClass] = set()
        for number in self._random.permutation(len(eq_classes)):
            moving.update(self._colocated_groups[eq_classes[number]])
            if len(moving) >= self.class_limit:
                break
        paths = self._sample_members(
            {path for eq_class in moving for path in eq_class.members}
        )
        cleared = (
            targets
            if len(targets) <= tuning.TARGET_HOSTS * tuning.MAX_TARGET_DOMAINS
            else set()
        )
        for eq_class in self._eq_classes:
            unplaced = [
                path for path in eq_class.members if path not in placement
            ]
            displaced = [
                path
                for path in eq_class.members
                if placement.get(path) in cleared
            ]
            if unplaced or displaced:
                paths.update(unplaced, displaced)
        return paths & self.problem.movable

    def _sample_members(self, paths: set[Path]) -> set[Path]:
        """Return some of many members, those of one domain together."""
        level = self.problem.levels[-1 if len(self.problem.levels) < 2 else 1]
        placement = self.incumbent.plan.placement
        by_domain = collections.defaultdict[Domain | None, list[Path]](list)
        for path in sorted(paths & placement.keys()):
            by_domain[self.problem.domain(placement[path], level)].append(path)
        groups = list(by_domain.values())
        sampled = paths - placement.keys()
        for number in self._random.permutation(len(groups)):
            if len(sampled) >= self.class_limit * tuning.MEMBERS_PER_CLASS:
                break
            sampled.update(groups[number])
        return sampled

    def _find_colocated_groups(
        self,
    ) -> dict[EquivalenceClass, set[EquivalenceClass]]:
        """Map equivalence classes to all that must share their domain."""
        colocated_groups = {
            eq_class: {eq_class} for eq_class in self._eq_classes
        }
        for policy in self.problem.topology.policies:
            if policy.strict and policy.binds_one_domain:
                bound = set(
                    equivalence.covered(self._eq_classes, policy.paths)
                )
                for eq_class in bound:
                    if len(bound) <= tuning.MAX_CLASSES:
                        colocated_groups[eq_class] = (
                            colocated_groups[eq_class] | bound
                        )
        return colocated_groups

    def _hosts(
        self, moving: set[Path], targets: set[HostId]
    ) -> dict[EquivalenceClass, set[HostId]]:
        """Map classes of the freed members to ids of candidate hosts."""
        placement = self.incumbent.plan.placement
        current = {placement[path] for path in moving if path in placement}
        self._assigned.apply(self.incumbent.plan)
        with self._assigned.unassigned(moving) as demand:
            sampled = self._sampler.sample(
                demand, candidate_list.narrow(tuning.NEIGHBOURHOOD_RATIO)
            )
            return {
                part: {
                    *sampled[eq_class],
                    *current,
                    *self._preferred(eq_class),
                    *eq_class.current,
                    *self._cheapest(eq_class, targets),
                }
                for eq_class, part in self._assigned.restrict_classes(
                    moving
                ).items()
            }

    def _cheapest(
        self, eq_class: EquivalenceClass, targets: set[HostId]
    ) -> list[HostId]:
        """Return target hosts with the least opportunity cost."""
        matrices = self._assigned.state.matrices
        hosts = self._assigned.state.hosts(eq_class)
        opportunity_cost = matrices.opportunity_cost[
            matrices.class_of[eq_class], hosts
        ]
        host_ids = [
            matrices.hosts[host]
            for host in hosts[np.argsort(opportunity_cost)]
        ]
        return [host for host in host_ids if host in targets][
            : tuning.TARGET_HOSTS
        ]

    def _hosts_by_domain(
        self, level: Level
    ) -> dict[Domain | None, set[HostId]]:
        """Map domains of a level to the ids of their hosts."""
        if level not in self._hosts_at:
            hosts = collections.defaultdict[Domain | None, set[HostId]](set)
            for host in self.problem.hosts:
                hosts[self.problem.domain(host, level)].add(host)
            self._hosts_at[level] = hosts
        return self._hosts_at[level]

    def _preferred(self, eq_class: EquivalenceClass) -> list[HostId]:
        scores = eq_class.member_class.scores
        if not scores:
            return []
        state = self._assigned.state
        host_ids = [
            state.matrices.hosts[host] for host in state.hosts(eq_class)
        ]
        return heapq.nlargest(
            tuning.PREFERRED_HOSTS, host_ids, lambda host: scores.get(host, 0)
        )

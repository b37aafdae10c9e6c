# SPDX-License-Identifier: Apache-2.0
"""Master problem: domains for all colocation groups, decided together.

Construction assigns one group after the other, and later groups find their few
domains taken. Here an integer program assigns to each group a domain that
would take it alone, within the capacity of the domain. No-good cuts separate
groups that do not fit together all the same (logic-based Benders
decomposition, Hooker and Ottosson, 2003). The result is heuristic: the members
still need hosts.
"""

import collections
import contextlib
import itertools

from highspy import ObjSense
import numpy as np

from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import capacity_rows
from nova_groupext.solver.repair import colocation_groups

# Iterations of the integer program, and seconds for all of them.
_MAX_ROUNDS = 40
_SECONDS = 10.0

# Relative optimality gap.
_GAP = 0.1

# Costs: a group moves; it has moved there before; other groups would have to
# leave; no construction placed it there; groups share a domain. The last is
# the largest relative perturbation of the others but _SHARING_COST.
_MOVE_COST = 1.0
_RETRY_COST = 0.3
_FULL_COST = 0.5
_UNPROVED_COST = 0.5
_SHARING_COST = 1.5
_PERTURBATION = 0.2


class DomainAssignment:
    """Integer program, to which no-good cuts are added.

    :ivar groups: colocation_groups.ColocationGroups to assign
    """

    def __init__(self, greedy, budget):
        """Build the integer program.

        :param greedy: squeaky_wheel.SqueakyWheel
        :param budget: time_budget.TimeBudget
        :raises time_budget.OutOfTime: there is too little time to build it
        """
        self._host_number = greedy.state.matrices.number
        self._levels = greedy.problem.levels
        self._random = np.random.default_rng(greedy.problem.seed)
        self.groups = colocation_groups.ColocationGroups(greedy, budget)
        self._solver = milp.MixedIntegerProgram(greedy.problem.seed, budget)
        self._solver.setOptionValue('mip_rel_gap', _GAP)
        self._domains = self.groups.domains
        self._columns = {
            (propagator, domain): self._solver.add_integer(1)
            for propagator, domains in self._domains.items()
            for domain in domains
        }
        self._surplus = []
        self._conflict_cache = {}
        self._tried = collections.Counter()
        for propagator in self._domains:
            self._add_row(
                expressions.total(self._columns_of(propagator)).equals(1)
            )
        for first, second in itertools.permutations(self._domains, 2):
            if first.eq_classes & second.eq_classes:
                self._require_overlap(first, second)
        rows = capacity_rows.CapacityRows(self.groups, self._solver, greedy)
        scopes = (propagator.policy.scope for propagator in self._domains)
        for scope in dict.fromkeys(scopes):
            self._penalise_sharing(scope)
            rows.add(scope, self._columns)

    def find_domains(self, plan, free_domains, budget):
        """Return domains for all groups that move few groups of a plan.

        :param plan: violations.Plan, feasible except for the members it leaves
            out
        :param free_domains: group -> numbers of domains with capacity for it
            without other groups
        :param budget: time_budget.TimeBudget
        :returns: group -> number of its domain; {} if none was found
        """
        current = self.domains_of(plan)
        costs = self._costs(current, free_domains)
        self._solver.budget = budget.slice(_SECONDS)
        domains = {}
        with contextlib.suppress(time_budget.OutOfTime):
            for _ in range(_MAX_ROUNDS):
                solution = self._solve(costs)
                domains = solution or domains
                if not solution or not self._add_cuts(solution):
                    break
        self._tried.update(domains.items() - current.items())
        return domains

    def domains_of(self, plan):
        """Map groups to the number of the domain where a plan has members."""
        domains = {}
        for propagator in self._domains:
            assigned = propagator.paths & plan.placement.keys()
            if assigned:
                host = self._host_number[plan.placement[min(assigned)]]
                domains[propagator] = int(propagator.domain_of[host])
        return domains

    def _costs(self, current, free_domains):
        perturbations = 1 + _PERTURBATION * self._random.random(
            len(self._columns)
        )
        return [
            float(
                perturbation
                * (
                    _MOVE_COST * (current.get(propagator) != domain)
                    + _RETRY_COST * self._tried[propagator, domain]
                    + _FULL_COST * (domain not in free_domains[propagator])
                    + _UNPROVED_COST
                    * (domain not in self.groups.fitting[propagator])
                )
            )
            for (propagator, domain), perturbation in zip(
                self._columns, perturbations, strict=True
            )
        ]

    def _solve(self, costs):
        columns = [*self._columns.values(), *self._surplus]
        costs = [*costs, *[_SHARING_COST] * len(self._surplus)]
        result = milp.run(
            self._solver,
            expressions.total(
                [c * n for c, n in zip(columns, costs, strict=True)]
            ),
            ObjSense.kMinimize,
            self._solver.budget,
            proof=Proof.NEEDLESS,
        )
        return {
            propagator: domain
            for (propagator, domain), column in self._columns.items()
            if result.values and result.values[column.index] > 0.5
        }

    def _add_cuts(self, domains):
        """Add no-good cuts for groups that conflict; return whether any do."""
        by_domain = collections.defaultdict(dict)
        for propagator, domain in domains.items():
            if colocation_groups.has_small_domains(propagator):
                by_domain[propagator.policy.scope, domain][propagator] = domain
        conflicts = self._find_conflicts(by_domain.values())
        if not conflicts:
            # Bottleneck members that leave one of these domains enter another.
            with_bottlenecks = {
                propagator: domain
                for propagator, domain in domains.items()
                if self.groups.has_bottlenecks(propagator, domain)
            }
            conflicts = self._find_conflicts([with_bottlenecks])
        for conflict in conflicts:
            columns = [self._columns[item] for item in conflict]
            self._add_row(expressions.total(columns) <= len(conflict) - 1)
        return bool(conflicts)

    def _find_conflicts(self, candidates):
        return [self._shrink(c) for c in candidates if self._is_conflict(c)]

    def _shrink(self, domains):
        """Return items of a subset of groups that conflict by themselves."""
        for propagator in list(domains):
            others = {
                other: domain
                for other, domain in domains.items()
                if other is not propagator
            }
            if others and self._is_conflict(others):
                domains = others
        return domains.items()

    def _is_conflict(self, domains):
        key = frozenset(domains.items())
        if key not in self._conflict_cache:
            budget = self._solver.budget
            is_conflict = not self.groups.can_fit(domains, budget)
            if is_conflict:
                budget.check()
            self._conflict_cache[key] = is_conflict
        return self._conflict_cache[key]

    # -- rows --------------------------------------------------------------

    def _require_overlap(self, inner, outer):
        """Require a wider domain that has hosts of the narrower one."""
        scopes = inner.policy.scope, outer.policy.scope
        if self._levels.index(scopes[0]) > self._levels.index(scopes[1]):
            return
        for domain in self._domains[inner]:
            outer_domains = np.unique(outer.domain_of[inner.domains[domain]])
            outer_columns = [
                self._columns[outer, d]
                for d in outer_domains
                if (outer, d) in self._columns
            ]
            self._add_row(
                self._columns[inner, domain]
                <= expressions.total(outer_columns)
            )

    def _penalise_sharing(self, scope):
        """Penalise groups that share a small domain."""
        by_domain = collections.defaultdict(list)
        for (propagator, domain), column in self._columns.items():
            if (
                propagator.policy.scope == scope
                and colocation_groups.has_small_domains(propagator)
            ):
                by_domain[domain].append(column)
        for columns in by_domain.values():
            if len(columns) > 1:
                self._add_row(
                    expressions.total(columns) <= 1 + self._add_surplus()
                )

    def _add_surplus(self):
        """Add a column that counts surplus groups, at a cost."""
        surplus = self._solver.add_column(len(self._domains))
        self._surplus.append(surplus)
        return surplus

    def _columns_of(self, propagator):
        return [
            self._columns[propagator, d] for d in self._domains[propagator]
        ]

    def _add_row(self, comparison):
        self._solver.add_row(comparison)

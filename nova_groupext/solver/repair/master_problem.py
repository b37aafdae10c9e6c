# SPDX-License-Identifier: Apache-2.0
"""Master problem: domains for all colocation groups, decided together.

Construction assigns one group after the other, and later groups find their few
domains taken. Here an integer program assigns to each group a domain that
would take it alone, within the capacity of the domain. No-good cuts separate
groups that do not fit together all the same (logic-based Benders
decomposition, Hooker and Ottosson, 2003). The result is a guess: the members
still need hosts.
"""

import collections
import contextlib
import itertools

from highspy import ObjSense
from highspy import highs
import numpy as np

from nova_groupext.solver.exact import milp
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import capacity_rows
from nova_groupext.solver.repair import colocation_groups

# Iterations of the integer program, and seconds for all of them.
_ROUNDS = 40
_SECONDS = 10.0

# Relative optimality gap.
_GAP = 0.1

# Costs: a group moves; it has moved there before; other groups would have to
# leave; no construction placed it there; groups share a domain. The last is
# the largest relative perturbation of the others but _SHARED.
_MOVED = 1.0
_TRIED = 0.3
_TIGHT = 0.5
_UNSURE = 0.5
_SHARED = 1.5
_NOISE = 0.2


class DomainAssignment:
    """Integer program, to which no-good cuts are added.

    :ivar found: colocation_groups.ColocationGroups to assign
    """

    def __init__(self, finder, budget):
        """Build the integer program.

        :param finder: squeaky_wheel.SqueakyWheel
        :param budget: time_budget.TimeBudget
        :raises time_budget.OutOfTime: there is too little time to build it
        """
        self._number = finder.state.matrices.number
        self._levels = finder.problem.levels
        self._random = np.random.default_rng(finder.problem.seed)
        self.found = colocation_groups.ColocationGroups(finder, budget)
        self._solver = milp.MixedIntegerProgram(finder.problem.seed, budget)
        self._solver.setOptionValue('mip_rel_gap', _GAP)
        self._domains = self.found.domains
        self._homes = {
            (propagator, domain): self._solver.add_whole(1)
            for propagator, domains in self._domains.items()
            for domain in domains
        }
        self._shared = []
        self._clashes = {}
        self._tried = collections.Counter()
        for propagator in self._domains:
            self._row(highs.qsum(self._columns(propagator)) == 1)
        for one, other in itertools.permutations(self._domains, 2):
            if one.units & other.units:
                self._tie(one, other)
        rows = capacity_rows.CapacityRows(self.found, self._solver, finder)
        for scope in dict.fromkeys(g.policy.scope for g in self._domains):
            self._keep_apart(scope)
            rows.add(scope, self._homes)

    def near(self, plan, roomy, budget):
        """Return domains for all groups that move few groups of a plan.

        :param plan: violations.Plan, feasible except for the members it leaves
            out
        :param roomy: group -> numbers of domains with capacity for it without
            other groups
        :param budget: time_budget.TimeBudget
        :returns: group -> number of its domain; {} if none was found
        """
        now = self.homes_of(plan)
        costs = self._costs(now, roomy)
        self._solver.budget = budget.slice(_SECONDS)
        homes = {}
        with contextlib.suppress(time_budget.OutOfTime):
            for _ in range(_ROUNDS):
                found = self._solve(costs)
                homes = found or homes
                if not found or not self._learn(found):
                    break
        self._tried.update(homes.items() - now.items())
        return homes

    def homes_of(self, plan):
        """Map groups to the number of the domain where a plan has members."""
        homes = {}
        for propagator in self._domains:
            seated = propagator.paths & plan.placement.keys()
            if seated:
                host = self._number[plan.placement[min(seated)]]
                homes[propagator] = int(propagator.domain_of[host])
        return homes

    def _costs(self, now, roomy):
        strays = 1 + _NOISE * self._random.random(len(self._homes))
        return [
            float(
                stray
                * (
                    _MOVED * (now.get(propagator) != domain)
                    + _TRIED * self._tried[propagator, domain]
                    + _TIGHT * (domain not in roomy[propagator])
                    + _UNSURE * (domain not in self.found.fitting[propagator])
                )
            )
            for (propagator, domain), stray in zip(
                self._homes, strays, strict=True
            )
        ]

    def _solve(self, costs):
        columns = [*self._homes.values(), *self._shared]
        costs = [*costs, *[_SHARED] * len(self._shared)]
        outcome = milp.run(
            self._solver,
            highs.qsum([c * n for c, n in zip(columns, costs, strict=True)]),
            ObjSense.kMinimize,
            self._solver.budget.left(),
        )
        return {
            propagator: domain
            for (propagator, domain), column in self._homes.items()
            if outcome.values and outcome.values[column.index] > 0.5
        }

    def _learn(self, homes):
        """Add no-good cuts for groups that conflict; return whether any do."""
        together = collections.defaultdict(dict)
        for propagator, domain in homes.items():
            if colocation_groups.is_narrow(propagator):
                together[propagator.policy.scope, domain][propagator] = domain
        clashes = self._find_clashes(together.values())
        if not clashes:
            # Bottleneck members that leave one of these domains enter another.
            traps = {
                g: h for g, h in homes.items() if self.found.is_trap(g, h)
            }
            clashes = self._find_clashes([traps])
        for crowd in clashes:
            columns = [self._homes[home] for home in crowd]
            self._row(highs.qsum(columns) <= len(crowd) - 1)
        return bool(clashes)

    def _find_clashes(self, crowds):
        return [self._narrow(c) for c in crowds if self._is_clash(c)]

    def _narrow(self, crowd):
        """Return a subset of groups that conflict by themselves."""
        for propagator in list(crowd):
            rest = {
                g: home for g, home in crowd.items() if g is not propagator
            }
            if rest and self._is_clash(rest):
                crowd = rest
        return crowd.items()

    def _is_clash(self, crowd):
        key = frozenset(crowd.items())
        if key not in self._clashes:
            budget = self._solver.budget
            fits = self.found.fit(crowd, budget)
            if not fits:
                budget.check()
            self._clashes[key] = not fits
        return self._clashes[key]

    # -- rows --------------------------------------------------------------

    def _tie(self, narrow, wide):
        """Require a wider domain that has hosts of the narrower one."""
        scopes = narrow.policy.scope, wide.policy.scope
        if self._levels.index(scopes[0]) > self._levels.index(scopes[1]):
            return
        for domain in self._domains[narrow]:
            outer = np.unique(wide.domain_of[narrow.domains[domain]])
            around = [
                self._homes[wide, d] for d in outer if (wide, d) in self._homes
            ]
            self._row(self._homes[narrow, domain] <= highs.qsum(around))

    def _keep_apart(self, scope):
        """Penalise groups that share a small domain."""
        inside = collections.defaultdict(list)
        for (propagator, domain), column in self._homes.items():
            if (
                propagator.policy.scope == scope
                and colocation_groups.is_narrow(propagator)
            ):
                inside[domain].append(column)
        for columns in inside.values():
            if len(columns) > 1:
                self._row(highs.qsum(columns) <= 1 + self._add_shared())

    def _add_shared(self):
        """Add a column that counts surplus groups, at a cost."""
        shared = self._solver.add_column(len(self._domains))
        self._shared.append(shared)
        return shared

    def _columns(self, propagator):
        return [self._homes[propagator, d] for d in self._domains[propagator]]

    def _row(self, comparison):
        self._solver.add_row(comparison)

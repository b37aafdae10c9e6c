# SPDX-License-Identifier: Apache-2.0
"""Domains for all who have to share one, decided together.

Attempts settle one bundle of members after the other, and who comes late finds
the few domains taken that would do. Here an integer programme gives each
bundle a domain that would take it alone, so that what is asked of a domain is
no more than there is. Bundles that do not get on there all the same are kept
apart from then on (logic-based Benders decomposition, Hooker and Ottosson,
2003). It is a guess: the members still have to be seated.
"""

import collections
import contextlib
import itertools

from highspy import ObjSense
from highspy import highs
import numpy as np

from nova_groupext.planner import clock as clocks
from nova_groupext.planner.exact import milp
from nova_groupext.planner.repair import bundles as bundling
from nova_groupext.planner.repair import limits

# How often the programme is asked, and for how many seconds in all.
_ROUNDS = 40
_SECONDS = 10.0

# How far from the best an allotment may be.
_GAP = 0.1

# What it costs if a bundle is to move; if it has moved there before; if
# others would have to make room there; if no attempt has seated it there; if
# bundles share a domain; and by how much each of these may stray.
_MOVED = 1.0
_TRIED = 0.3
_TIGHT = 0.5
_UNSURE = 0.5
_SHARED = 1.5
_NOISE = 0.2


class Allotment:
    """The programme, to which rows are added as more is learnt.

    :ivar found: bundles.Bundles, which are allotted domains
    """

    def __init__(self, finder, clock):
        """Write it down.

        :param finder: greedy.Greedy
        :param clock: clock.Clock
        :raises clock.OutOfTime: that takes longer than there is time
        """
        self._number = finder.setting.board.number
        self._levels = finder.problem.levels
        self._random = np.random.default_rng(finder.problem.seed)
        self.found = bundling.Bundles(finder, clock)
        self._solver = milp.Programme(finder.problem.seed, clock)
        self._solver.setOptionValue('mip_rel_gap', _GAP)
        self._domains = self.found.domains
        self._homes = {
            (guard, domain): self._solver.add_whole(1)
            for guard, domains in self._domains.items()
            for domain in domains
        }
        self._shared = []
        self._clashes = {}
        self._tried = collections.Counter()
        for guard in self._domains:
            self._row(highs.qsum(self._columns(guard)) == 1)
        for one, other in itertools.permutations(self._domains, 2):
            if one.units & other.units:
                self._tie(one, other)
        rows = limits.Limits(self.found, self._solver, finder)
        for scope in dict.fromkeys(g.policy.scope for g in self._domains):
            self._keep_apart(scope)
            rows.add(scope, self._homes)

    def near(self, plan, roomy, clock):
        """An allotment that moves few bundles of a plan.

        :param plan: rules.Plan, lawful as far as it goes
        :param roomy: bundle -> numbers of domains with room for it as long
            as no other bundle is there
        :param clock: clock.Clock
        :returns: bundle -> number of its domain; {} if none was found
        """
        now = self.homes_of(plan)
        costs = self._costs(now, roomy)
        self._solver.clock = clock.slice(_SECONDS)
        homes = {}
        with contextlib.suppress(clocks.OutOfTime):
            for _ in range(_ROUNDS):
                found = self._solve(costs)
                homes = found or homes
                if not found or not self._learn(found):
                    break
        self._tried.update(homes.items() - now.items())
        return homes

    def homes_of(self, plan):
        """Bundle -> number of the domain where a plan has members of it."""
        homes = {}
        for guard in self._domains:
            seated = guard.paths & plan.placement.keys()
            if seated:
                host = self._number[plan.placement[min(seated)]]
                homes[guard] = int(guard.domain_of[host])
        return homes

    def _costs(self, now, roomy):
        strays = 1 + _NOISE * self._random.random(len(self._homes))
        return [
            float(
                stray
                * (
                    _MOVED * (now.get(guard) != domain)
                    + _TRIED * self._tried[guard, domain]
                    + _TIGHT * (domain not in roomy[guard])
                    + _UNSURE * (domain not in self.found.fitting[guard])
                )
            )
            for (guard, domain), stray in zip(self._homes, strays, strict=True)
        ]

    def _solve(self, costs):
        columns = [*self._homes.values(), *self._shared]
        costs = [*costs, *[_SHARED] * len(self._shared)]
        outcome = milp.run(
            self._solver,
            highs.qsum([c * n for c, n in zip(columns, costs, strict=True)]),
            ObjSense.kMinimize,
            self._solver.clock.left(),
        )
        return {
            guard: domain
            for (guard, domain), column in self._homes.items()
            if outcome.values and outcome.values[column.index] > 0.5
        }

    def _learn(self, homes):
        """Keep apart who does not get on; gives whether there was any."""
        together = collections.defaultdict(dict)
        for guard, domain in homes.items():
            if bundling.is_narrow(guard):
                together[guard.policy.scope, domain][guard] = domain
        clashes = self._find_clashes(together.values())
        if not clashes:
            # Captives that leave one of these domains come to another.
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
        """Those of some bundles that do not get on by themselves."""
        for guard in list(crowd):
            rest = {g: home for g, home in crowd.items() if g is not guard}
            if rest and self._is_clash(rest):
                crowd = rest
        return crowd.items()

    def _is_clash(self, crowd):
        key = frozenset(crowd.items())
        if key not in self._clashes:
            clock = self._solver.clock
            fits = self.found.fit(crowd, clock)
            if not fits:
                clock.check()
            self._clashes[key] = not fits
        return self._clashes[key]

    # -- rows --------------------------------------------------------------

    def _tie(self, narrow, wide):
        """Who is in a domain is in one that has hosts of it as well."""
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
        """Let bundles have small domains for themselves where they can."""
        inside = collections.defaultdict(list)
        for (guard, domain), column in self._homes.items():
            if guard.policy.scope == scope and bundling.is_narrow(guard):
                inside[domain].append(column)
        for columns in inside.values():
            if len(columns) > 1:
                self._row(highs.qsum(columns) <= 1 + self._add_shared())

    def _add_shared(self):
        """A column of what is allowed but not liked."""
        shared = self._solver.add_column(len(self._domains))
        self._shared.append(shared)
        return shared

    def _columns(self, guard):
        return [self._homes[guard, d] for d in self._domains[guard]]

    def _row(self, comparison):
        self._solver.add_row(comparison)

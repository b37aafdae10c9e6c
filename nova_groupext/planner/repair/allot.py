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
from nova_groupext.planner.greedy import bundles as bundling

# How often the programme is asked, and for how many seconds in all.
_ROUNDS = 12
_SECONDS = 2.0

# How far from the best an allotment may be.
_GAP = 0.1

# What it costs if a bundle is to move; if it has moved there before; if
# others would have to make room there; if bundles share a domain or are known
# not to get on; and by how much each of these may stray.
_MOVED = 1.0
_TRIED = 0.3
_TIGHT = 0.5
_SHARED = 1.5
_NOISE = 0.2


class Allotment:
    """The programme, to which rows are added as more is learnt.

    :ivar bundles: guards.Together that are allotted domains
    """

    def __init__(self, finder, clock):
        """Write it down.

        :param finder: greedy.Greedy
        :param clock: clock.Clock
        :raises clock.OutOfTime: that takes longer than there is time
        """
        self._board = finder.setting.board
        self._wanted = finder.wanted
        self._levels = finder.problem.levels
        self._random = np.random.default_rng(finder.problem.seed)
        self._found = bundling.Bundles(finder, clock)
        self._solver = milp.Programme(finder.problem.seed, clock)
        self._solver.setOptionValue('mip_rel_gap', _GAP)
        self._domains = self._found.domains
        self._homes = {
            (guard, domain): self._solver.add_whole(1)
            for guard, domains in self._domains.items()
            for domain in domains
        }
        self._shared = []
        self._places = {}
        self._known = set()
        self._tried = collections.Counter()
        for guard in self._domains:
            self._row(highs.qsum(self._columns(guard)) == 1)
        for one, other in itertools.permutations(self._domains, 2):
            if one.units & other.units:
                self._tie(one, other)
        for scope in dict.fromkeys(g.policy.scope for g in self._domains):
            self._add_room(scope)

    @property
    def bundles(self):
        return self._domains.keys()

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
        number = self._board.number
        homes = {}
        for guard in self._domains:
            seated = guard.paths & plan.placement.keys()
            if seated:
                host = number[plan.placement[min(seated)]]
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
        together = collections.defaultdict(list)
        for guard, domain in homes.items():
            if bundling.is_narrow(guard):
                together[guard.policy.scope, domain].append(guard)
        clashes = [
            (some, domain)
            for (_, domain), some in together.items()
            if len(some) > 1 and self._is_new_clash(some, domain)
        ]
        for some, domain in clashes:
            both = highs.qsum([self._homes[guard, domain] for guard in some])
            self._row(both <= len(some) - 1 + self._add_shared())
        return bool(clashes)

    def _is_new_clash(self, some, domain):
        crowd = frozenset(some), domain
        is_new = crowd not in self._known
        self._known.add(crowd)
        return is_new and not self._found.fit_together(some, domain)

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

    def _add_room(self, scope):
        """What is asked of a domain is no more than there is of it."""
        guards = [g for g in self._domains if g.policy.scope == scope]
        guards.sort(key=lambda guard: len(guard.units))
        # Who is in several bundles counts once.
        guard_of = {u: g for g in guards[::-1] for u in g.units}
        inside = collections.defaultdict(list)
        for guard in guards:
            for domain in self._domains[guard]:
                inside[domain].append(guard)
        for domain, some in inside.items():
            if len(some) > 1:
                units = {u: g for u, g in guard_of.items() if g in some}
                if bundling.is_narrow(some[0]):
                    both = [self._homes[guard, domain] for guard in some]
                    self._row(highs.qsum(both) <= 1 + self._add_shared())
                hosts = some[0].domains[domain]
                self._limit_amounts(domain, hosts, units)
                self._limit_places(domain, hosts, units)

    def _limit_amounts(self, domain, hosts, units):
        """No more of a resource than is free."""
        # In floats and Python's integers, which large amounts fit into.
        free = self._board.free[hosts].sum(axis=0, dtype=float)
        needs = {unit: self._board.need_of(unit).tolist() for unit in units}
        for number, most in enumerate(free):
            asked = {u: needs[u][number] * self._wanted[u] for u in units}
            self._limit(domain, units, asked, most)

    def _limit_places(self, domain, hosts, units):
        """No more members as large as some than there are places for these."""
        board = self._board
        for number in {board.class_of[unit] for unit in units}:
            larger, most = self._places_of(number)
            asked = {
                u: self._wanted[u]
                for u in units
                if board.class_of[u] in larger
            }
            self._limit(domain, units, asked, most[hosts].sum())

    def _places_of(self, number):
        """How many members as large as those of a class each host may take.

        :returns: the classes with such members that go to no other hosts,
            and the number by host
        """
        if number not in self._places:
            unit_of = {self._board.class_of[u]: u for u in self._wanted}
            least = self._board.need_of(unit_of[number])
            may = self._board.may(unit_of[number])
            larger = {
                other
                for other, unit in unit_of.items()
                if (self._board.need_of(unit) >= least).all()
                and not (self._board.may(unit) & ~may).any()
            }
            self._places[number] = larger, self._board.places(least) * may
        return self._places[number]

    def _limit(self, domain, units, asked, most):
        """Demand that what units ask of a domain is at most so much."""
        by_guard = collections.Counter()
        for unit, amount in asked.items():
            by_guard[units[unit]] += int(amount)
        if sum(by_guard.values()) > most:
            largest = max(by_guard.values())
            used = [
                self._homes[guard, domain] * (amount / largest)
                for guard, amount in by_guard.items()
                if amount
            ]
            self._row(highs.qsum(used) <= float(most / largest))

    def _add_shared(self):
        """A column of what is allowed but not liked."""
        shared = self._solver.add_column(len(self._domains))
        self._shared.append(shared)
        return shared

    def _columns(self, guard):
        return [self._homes[guard, d] for d in self._domains[guard]]

    def _row(self, comparison):
        self._solver.add_row(comparison)

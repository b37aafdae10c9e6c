# SPDX-License-Identifier: Apache-2.0
"""Ejection search: insertion of members at the expense of others.

Members without a host get one, and the members there look for another; those
that find none wait in turn. Members whose insertion has often failed cost more
to eject, so that two members that need the same host do not eject each other
for ever (guided ejection search, Nagata and Bräysy, 2009).
"""

import collections
import contextlib
import dataclasses

import numpy as np

from nova_groupext.solver.construct import iteration
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import joint_reinsertion

# Selections of hosts tried for the same members.
_TRIES = 16

# Orders in which colocation groups are tried in their new domains.
_ORDERS = 4

# Largest relative perturbation of costs and priorities.
_NOISE = 0.5


@dataclasses.dataclass(frozen=True)
class Change:
    """Plan in which some members have lost their hosts to others.

    :ivar plan: violations.Plan, feasible except for the members it leaves out
    :ivar lost: lists of paths of members that belong together
    :ivar price: penalty for the members that lost their hosts
    :ivar helps: whether all members to insert have a host
    """

    plan: violations.Plan
    lost: list
    price: int
    helps: bool


class Ejection:
    """Guided ejection search."""

    def __init__(self, finder, seated):
        """Start without failures.

        :param finder: squeaky_wheel.SqueakyWheel, which proposes hosts
        :param seated: assignment.AssignmentState of the placed members
        """
        self._finder = finder
        self._problem = finder.problem
        self._seated = seated
        self._state = seated.state
        self._same = dict(
            zip(
                finder.state.propagators,
                self._state.propagators,
                strict=True,
            )
        )
        self._random = np.random.default_rng(finder.problem.seed)
        self._bundle_of = self._find_bundles()
        self._crowds = joint_reinsertion.JointReinsertion(
            self._problem, seated
        )
        self._failures = collections.Counter()

    def seat(self, plan, coming, budget):
        """Insert some members; eject others if necessary.

        :param plan: violations.Plan of the placed members
        :param coming: paths of members that belong together
        :param budget: time_budget.TimeBudget
        :returns: Change, None if no hosts were found
        """
        self._failures.update(self._units_of(coming))
        best = None
        for _ in range(_TRIES):
            targets = self._finder.pick_hosts_for(coming, 1)
            found = self._change(plan, coming, targets)
            if found.helps and (best is None or found.price < best.price):
                best = found
            if not budget.left() or (best is not None and not best.lost):
                break
        return best

    def settle(self, plan, move, bundles, budget):
        """Move colocation groups to other domains; eject others if necessary.

        :param plan: violations.Plan of the placed members
        :param move: joint_reinsertion.Move of propagators of the finder
        :param bundles: colocation_groups.ColocationGroups
        :param budget: time_budget.TimeBudget
        :returns: Change
        """
        move = self._own(move)
        found = self._crowds.seat(plan, move, bundles, budget)
        coming = move.coming
        targets = {
            self._state.matrices.hosts[host]
            for propagator in move.moved
            for host in propagator.domains[move.homes[propagator]]
        }
        if found is not None:
            # Ejected members are reinserted without further ejection.
            plan, coming = found
            self._seated.change_to(plan)
            targets = set()
        with self._state.settled(move.homes):
            return min(
                (self._change(plan, coming, targets) for _ in range(_ORDERS)),
                key=lambda change: change.price,
            )

    def _own(self, move):
        """Return a move of the state's propagators, to small domains only."""
        return joint_reinsertion.Move(
            {
                self._same[propagator]: home
                for propagator, home in move.homes.items()
            },
            [
                self._same[g]
                for g in move.moved
                if colocation_groups.is_narrow(g)
            ],
            move.coming,
        )

    def find_roomy(self, bundles):
        """Return domains with capacity for each group without other groups.

        :param bundles: propagators.OneDomain of the finder
        :returns: the same -> set of numbers of domains
        """
        paths = set().union(*(propagator.paths for propagator in bundles))
        with self._lifted(paths & self._problem.movable) as attempt:
            return {
                bundle: set(self._rank(attempt, self._same[bundle]))
                for bundle in bundles
            }

    def _change(self, plan, coming, targets):
        """Insert members, and reassign the members on the target hosts."""
        units = self._units_of(coming)
        alike = {path for unit in units for path in unit.members}
        here = {p for p, host in plan.placement.items() if host in targets}
        # Ejection of an interchangeable member gains nothing.
        here -= alike - coming
        moving = here.union(*(self._bundle_of.get(path, ()) for path in here))
        moving &= plan.placement.keys() & self._problem.movable
        moving |= coming
        with self._lifted(moving) as attempt:
            others = [unit for unit in attempt.wanted if unit not in units]
            units.sort(key=self._hardness, reverse=True)
            others.sort(key=self._hardness, reverse=True)
            left = attempt.seat_most([*units, *others])
            seats = attempt.seats()
            attempt.undo()
        away = {unit for some in left for unit in some}
        parts = self._seated.parts(moving)
        lost = [[p for u in some for p in parts[u].members] for some in left]
        names = self._state.matrices.hosts
        seats = [(parts[u], names[host], way) for u, host, way in seats]
        return Change(
            plan=self._move(plan, moving, seats),
            lost=lost,
            price=sum(
                (1 + max(self._failures[unit] for unit in some)) * len(paths)
                for some, paths in zip(left, lost, strict=True)
            ),
            helps=away.isdisjoint(units),
        )

    @contextlib.contextmanager
    def _lifted(self, paths):
        """Yield a Construction while some members are unassigned."""
        with self._seated.lifted(paths) as standing:
            noise = self._random.random(len(self._state.matrices.hosts))
            yield iteration.Construction(
                self._state, standing, 1 + _NOISE * noise, 0, False
            )

    def _rank(self, attempt, propagator):
        return attempt.rank(
            propagator,
            [unit for unit in attempt.wanted if unit in propagator.units],
        )

    def _move(self, plan, moving, seats):
        """Return a plan with new hosts for the moving members, if any."""
        new = equivalence.plan(self._problem, seats)
        stay = plan.without(moving)
        return violations.Plan(
            {**stay.placement, **new.placement},
            {**stay.alternative, **new.alternative},
        )

    def _units_of(self, paths):
        return [
            unit
            for unit in self._state.units
            if not paths.isdisjoint(unit.members)
        ]

    def _hardness(self, unit):
        stray = 1 + _NOISE * self._random.random()
        return self._failures[unit], self._state.volume[unit] * stray

    def _find_bundles(self):
        """Map paths to all paths that must share their smallest domain."""
        levels = self._problem.levels
        bound = [
            (levels.index(propagator.policy.scope), propagator.paths)
            for propagator in self._state.propagators
            if propagators.needs_domain(propagator)
            and propagator.policy.strict
        ]
        bundles = {}
        for _, paths in sorted(bound, key=lambda b: (b[0], len(b[1]))):
            for path in paths:
                bundles.setdefault(path, paths)
        return bundles

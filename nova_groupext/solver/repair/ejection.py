# SPDX-License-Identifier: Apache-2.0
"""Ejection search: insertion of members at the expense of others.

Unplaced members get hosts, and the search reassigns the members on these
hosts; those without another host become unplaced in turn. Members whose
insertion has often failed cost more to eject, so that two members that need
the same host do not eject each other for ever (guided ejection search, Nagata
and Bräysy, 2009).
"""

import collections
import contextlib
import dataclasses

import numpy as np

from nova_groupext.solver.construct import iteration
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import joint_reinsertion

# Selections of hosts tried for the same members.
_MAX_TARGET_SAMPLES = 16

# Orders in which colocation groups are tried in their new domains.
_MAX_ORDERS = 4

# Largest relative perturbation of costs and priorities.
_PERTURBATION = 0.5


@dataclasses.dataclass(frozen=True)
class Ejection:
    """Plan in which some members have lost their hosts to others.

    :ivar plan: violations.Plan, feasible except for the members it leaves out
    :ivar ejected: lists of paths of members that belong together
    :ivar penalty: number of ejected members, weighted by their failures
    :ivar is_complete: whether all members to insert have a host
    """

    plan: violations.Plan
    ejected: list
    penalty: int
    is_complete: bool


class EjectionSearch:
    """Guided ejection search."""

    def __init__(self, greedy, assigned):
        """Start without failures.

        :param greedy: squeaky_wheel.SqueakyWheel, which proposes hosts
        :param assigned: assignment.AssignmentState of the placed members
        """
        self._greedy = greedy
        self._problem = greedy.problem
        self._assigned = assigned
        self._state = assigned.state
        self._own_propagators = dict(
            zip(
                greedy.state.propagators,
                self._state.propagators,
                strict=True,
            )
        )
        self._random = np.random.default_rng(greedy.problem.seed)
        self._group_of = self._find_colocated_groups()
        self._joint_reinsertion = joint_reinsertion.JointReinsertion(
            self._problem, assigned
        )
        self._failures = collections.Counter()

    def insert(self, plan, to_insert, budget):
        """Insert some members; eject others if necessary.

        :param plan: violations.Plan of the placed members
        :param to_insert: paths of members that belong together
        :param budget: time_budget.TimeBudget
        :returns: Ejection, None if no hosts were found
        """
        self._failures.update(self._classes_of(to_insert))
        best = None
        for _ in range(_MAX_TARGET_SAMPLES):
            targets = self._greedy.sample_hosts_for(to_insert, 1)
            ejection = self._insert(plan, to_insert, targets)
            if ejection.is_complete and (
                best is None or ejection.penalty < best.penalty
            ):
                best = ejection
            if not budget.remaining() or (
                best is not None and not best.ejected
            ):
                break
        return best

    def move_groups(self, plan, move, colocated_groups, budget):
        """Move colocation groups to other domains; eject others if necessary.

        :param plan: violations.Plan of the placed members
        :param move: joint_reinsertion.Move of propagators of the constructions
        :param colocated_groups: colocation_groups.ColocationGroups
        :param budget: time_budget.TimeBudget
        :returns: Ejection
        """
        move = self._to_own_move(move)
        reinserted = self._joint_reinsertion.reinsert(
            plan, move, colocated_groups, budget
        )
        to_insert = move.to_insert
        targets = {
            self._state.matrices.hosts[host]
            for propagator in move.moved
            for host in propagator.domains[move.prescribed[propagator]]
        }
        if reinserted is not None:
            # No member is ejected for members that joint reinsertion ejects.
            plan, to_insert = reinserted
            self._assigned.apply(plan)
            targets = set()
        with self._state.with_domains(move.prescribed):
            return min(
                (
                    self._insert(plan, to_insert, targets)
                    for _ in range(_MAX_ORDERS)
                ),
                key=lambda ejection: ejection.penalty,
            )

    def _to_own_move(self, move):
        """Return a move of the state's propagators, to small domains only."""
        return joint_reinsertion.Move(
            {
                self._own_propagators[propagator]: domain
                for propagator, domain in move.prescribed.items()
            },
            [
                self._own_propagators[propagator]
                for propagator in move.moved
                if colocation_groups.has_small_domains(propagator)
            ],
            move.to_insert,
        )

    def find_free_domains(self, colocated_groups):
        """Return domains with capacity for each group without other groups.

        :param colocated_groups: propagators.OneDomain of the constructions
        :returns: the same -> set of numbers of domains
        """
        paths = set().union(
            *(propagator.paths for propagator in colocated_groups)
        )
        with self._with_unassigned(
            paths & self._problem.movable
        ) as construction:
            return {
                propagator: set(
                    self._rank_domains(
                        construction, self._own_propagators[propagator]
                    )
                )
                for propagator in colocated_groups
            }

    def _insert(self, plan, to_insert, targets):
        """Insert members, and reassign the members on the target hosts."""
        eq_classes = self._classes_of(to_insert)
        interchangeable = {
            path for eq_class in eq_classes for path in eq_class.members
        }
        displaced = {
            path for path, host in plan.placement.items() if host in targets
        }
        # Ejection of an interchangeable member gains nothing.
        displaced -= interchangeable - to_insert
        moving = displaced.union(
            *(self._group_of.get(path, ()) for path in displaced)
        )
        moving &= plan.placement.keys() & self._problem.movable
        moving |= to_insert
        unplaced, assignments = self._assign_first(eq_classes, moving)
        failed = {eq_class for group in unplaced for eq_class in group}
        parts = self._assigned.restrict_classes(moving)
        ejected = [
            [path for eq_class in group for path in parts[eq_class].members]
            for group in unplaced
        ]
        host_ids = self._state.matrices.hosts
        assignments = [
            (parts[eq_class], host_ids[host], option)
            for eq_class, host, option in assignments
        ]
        return Ejection(
            plan=self._combine(plan, moving, assignments),
            ejected=ejected,
            penalty=sum(
                (1 + max(self._failures[eq_class] for eq_class in group))
                * len(paths)
                for group, paths in zip(unplaced, ejected, strict=True)
            ),
            is_complete=failed.isdisjoint(eq_classes),
        )

    def _assign_first(self, eq_classes, moving):
        """Assign some members, those of the given classes first.

        :param moving: paths of all these members
        :returns: (groups of classes that got no hosts, assignments)
        """
        first = sorted(eq_classes, key=self._priority, reverse=True)
        with self._with_unassigned(moving) as construction:
            others = [
                eq_class
                for eq_class in construction.demand
                if eq_class not in eq_classes
            ]
            others.sort(key=self._priority, reverse=True)
            unplaced = construction.assign_possible([*first, *others])
            assignments = construction.assignments()
            construction.undo()
        return unplaced, assignments

    @contextlib.contextmanager
    def _with_unassigned(self, paths):
        """Yield a Construction while some members are unassigned."""
        with self._assigned.unassigned(paths) as demand:
            perturbation = self._random.random(len(self._state.matrices.hosts))
            yield iteration.Construction(
                self._state,
                demand,
                1 + _PERTURBATION * perturbation,
                0,
                False,
            )

    def _rank_domains(self, construction, propagator):
        return construction.rank_domains(
            propagator,
            [
                eq_class
                for eq_class in construction.demand
                if eq_class in propagator.eq_classes
            ],
        )

    def _combine(self, plan, moving, assignments):
        """Return a plan with new hosts for the moving members, if any."""
        new = equivalence.to_plan(self._problem, assignments)
        rest = plan.without(moving)
        return violations.Plan(
            {**rest.placement, **new.placement},
            {**rest.alternative, **new.alternative},
        )

    def _classes_of(self, paths):
        return [
            eq_class
            for eq_class in self._state.eq_classes
            if not paths.isdisjoint(eq_class.members)
        ]

    def _priority(self, eq_class):
        perturbation = 1 + _PERTURBATION * self._random.random()
        return self._failures[eq_class], self._state.volume[
            eq_class
        ] * perturbation

    def _find_colocated_groups(self):
        """Map paths to all paths that must share their smallest domain."""
        levels = self._problem.levels
        bound = [
            (levels.index(propagator.policy.scope), propagator.paths)
            for propagator in self._state.propagators
            if propagator.needs_domain and propagator.policy.strict
        ]
        colocated_groups = {}
        for _, paths in sorted(bound, key=lambda b: (b[0], len(b[1]))):
            for path in paths:
                colocated_groups.setdefault(path, paths)
        return colocated_groups

# SPDX-License-Identifier: Apache-2.0
"""Capacity rows of the master problem, which limit demand on each domain."""

import collections

from highspy import highs
import numpy as np

from nova_groupext.solver.repair import bottlenecks


class CapacityRows:
    """Rows that limit the demand of colocation groups on their domains.

    Bottleneck classes have columns of their own: their members in each domain.
    """

    def __init__(self, bundles, solver, finder):
        """Keep the model; add no rows yet.

        :param bundles: colocation_groups.ColocationGroups
        :param solver: milp.MixedIntegerProgram
        :param finder: squeaky_wheel.SqueakyWheel
        """
        self._bundles = bundles
        self._solver = solver
        self._state = finder.state
        self._board = finder.state.matrices
        self._wanted = finder.wanted
        self._places = {}

    def add(self, scope, homes):
        """Add the rows for the domains of a scope.

        :param homes: (propagator, number of a domain) -> column, 1 if it is
            there
        """
        strict = [g for g in self._bundles.domains if g.policy.scope == scope]
        strict.sort(key=lambda propagator: len(propagator.units))
        # Members of several groups count once.
        guard_of = {unit: g for g in strict[::-1] for unit in g.units}
        inside = collections.defaultdict(dict)
        for unit, propagator in guard_of.items():
            for domain in self._bundles.domains[propagator]:
                column = homes[propagator, domain]
                inside[domain][unit] = column, self._wanted[unit]
        for (unit, domain), column in self._spread(strict[0]).items():
            if domain in inside:
                inside[domain][unit] = column, 1
        for domain, asking in inside.items():
            hosts = strict[0].domains[domain]
            self._limit_amounts(hosts, asking)
            self._limit_places(hosts, asking)

    def _spread(self, propagator):
        """Add columns for bottleneck classes: (class, domain) -> column."""
        wanted = collections.Counter()
        unit_of = {}
        for unit in self._bundles.captives:
            number = self._board.class_of[unit]
            wanted[unit_of.setdefault(number, unit)] += self._wanted[unit]
        columns = {}
        for unit, count in wanted.items():
            room = self._state.room(unit, slice(None))
            inside = propagator.domain_of >= 0
            most = np.bincount(propagator.domain_of[inside], room[inside])
            some = {
                (unit, domain): self._solver.add_column(int(most[domain]))
                for domain in np.flatnonzero(most).tolist()
            }
            missing = count - int(room[~inside].sum())
            if missing > 0 and some:
                self._row(highs.qsum(list(some.values())) >= missing)
            columns.update(some)
        return columns

    def _limit_amounts(self, hosts, asking):
        """Limit the demand for each resource to what is free."""
        # Floats and Python integers do not overflow.
        free = self._board.free[hosts].sum(axis=0, dtype=float)
        needs = {unit: self._board.need_of(unit).tolist() for unit in asking}
        for number, most in enumerate(free):
            asked = [
                (column, needs[unit][number] * count)
                for unit, (column, count) in asking.items()
            ]
            self._limit(asked, most)

    def _limit_places(self, hosts, asking):
        """Limit members at least as large as a class to its capacity."""
        matrices = self._board
        for number in {matrices.class_of[unit] for unit in asking}:
            takes, most = self._places_of(number)
            asked = [
                (column, count * takes[matrices.class_of[unit]])
                for unit, (column, count) in asking.items()
            ]
            self._limit(asked, most[hosts].sum())

    def _places_of(self, number):
        """Return the capacity for members of a class.

        :returns: number of class -> how much of it a member of that class
            takes at least; and the capacity by host, in members
        """
        matrices = self._board
        if number not in self._places:
            unit_of = {matrices.class_of[u]: u for u in self._wanted}
            one = unit_of[number]
            takes = {
                other: bottlenecks.times(matrices, unit, one)
                for other, unit in unit_of.items()
            }
            most = matrices.places(matrices.need_of(one)) * matrices.may(one)
            self._places[number] = takes, most
        return self._places[number]

    def _limit(self, asked, most):
        """Add a row that limits the demand on a domain.

        :param asked: (column, amount by which it counts) pairs
        """
        amounts = collections.defaultdict(int)
        columns = {column.index: column for column, _ in asked}
        for column, amount in asked:
            amounts[column.index] += int(amount)
        largest = max(amounts.values(), default=0)
        if largest:
            used = [
                columns[index] * (amount / largest)
                for index, amount in amounts.items()
                if amount
            ]
            self._row(highs.qsum(used) <= float(most / largest))

    def _row(self, comparison):
        self._solver.add_row(comparison)

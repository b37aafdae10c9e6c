# SPDX-License-Identifier: Apache-2.0
"""What is asked of a domain is no more than there is of it."""

import collections

from highspy import highs
import numpy as np

from nova_groupext.planner.repair import captives


class Limits:
    """Rows of a programme that allots domains to bundles.

    Captives have columns of their own: how many of a class are in a domain.
    """

    def __init__(self, bundles, solver, finder):
        """Nothing is written yet.

        :param bundles: bundles.Bundles
        :param solver: milp.Programme
        :param finder: greedy.Greedy
        """
        self._bundles = bundles
        self._solver = solver
        self._setting = finder.setting
        self._board = finder.setting.board
        self._wanted = finder.wanted
        self._places = {}

    def add(self, scope, homes):
        """Write the rows of the domains of a scope.

        :param homes: (bundle, number of a domain) -> column, 1 if it is there
        """
        guards = [g for g in self._bundles.domains if g.policy.scope == scope]
        guards.sort(key=lambda guard: len(guard.units))
        # Who is in several bundles counts once.
        guard_of = {unit: g for g in guards[::-1] for unit in g.units}
        inside = collections.defaultdict(dict)
        for unit, guard in guard_of.items():
            for domain in self._bundles.domains[guard]:
                column = homes[guard, domain]
                inside[domain][unit] = column, self._wanted[unit]
        for (unit, domain), column in self._spread(guards[0]).items():
            if domain in inside:
                inside[domain][unit] = column, 1
        for domain, asking in inside.items():
            hosts = guards[0].domains[domain]
            self._limit_amounts(hosts, asking)
            self._limit_places(hosts, asking)

    def _spread(self, guard):
        """Columns of captives: (one unit of a class, domain) -> column."""
        wanted = collections.Counter()
        unit_of = {}
        for unit in self._bundles.captives:
            number = self._board.class_of[unit]
            wanted[unit_of.setdefault(number, unit)] += self._wanted[unit]
        columns = {}
        for unit, count in wanted.items():
            room = self._setting.room(unit, slice(None))
            inside = guard.domain_of >= 0
            most = np.bincount(guard.domain_of[inside], room[inside])
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
        """No more of a resource than is free."""
        # In floats and Python's integers, which large amounts fit into.
        free = self._board.free[hosts].sum(axis=0, dtype=float)
        needs = {unit: self._board.need_of(unit).tolist() for unit in asking}
        for number, most in enumerate(free):
            asked = [
                (column, needs[unit][number] * count)
                for unit, (column, count) in asking.items()
            ]
            self._limit(asked, most)

    def _limit_places(self, hosts, asking):
        """No more members as large as some than there are places for these."""
        board = self._board
        for number in {board.class_of[unit] for unit in asking}:
            takes, most = self._places_of(number)
            asked = [
                (column, count * takes[board.class_of[unit]])
                for unit, (column, count) in asking.items()
            ]
            self._limit(asked, most[hosts].sum())

    def _places_of(self, number):
        """How many members of a class each host may take.

        :returns: how many of these places a member of each class takes at
            least, and the number of them by host
        """
        board = self._board
        if number not in self._places:
            unit_of = {board.class_of[u]: u for u in self._wanted}
            one = unit_of[number]
            takes = {
                other: captives.times(board, unit, one)
                for other, unit in unit_of.items()
            }
            most = board.places(board.need_of(one)) * board.may(one)
            self._places[number] = takes, most
        return self._places[number]

    def _limit(self, asked, most):
        """Demand that what is asked of a domain is at most so much.

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

# SPDX-License-Identifier: Apache-2.0
"""Counts of members by domain, the terms of all policy rows.

The rows of policies use neither assignment variables nor pinned members
directly, but the number of members of a side in a domain.
"""

import collections
import dataclasses
import functools
import itertools
import math

from highspy import highs

from nova_groupext.solver.exact import variables
from nova_groupext.solver.model import equivalence


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """A set of members, such as one part of a relationship.

    :ivar paths: paths of the members
    :ivar units: their equivalence classes
    :ivar pins: host id -> number of members pinned there
    :ivar hosts: ids of the hosts where any of them may be, sorted
    """

    paths: frozenset
    units: tuple[equivalence.EquivalenceClass, ...]
    pins: collections.Counter
    hosts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Count:
    """Number of members of a side on some hosts.

    :ivar seats: assignment variables that it sums up
    :ivar expr: linear expression of the number
    :ivar low: lower bound
    :ivar high: upper bound
    """

    seats: tuple[variables.Variable, ...]
    expr: highs.highs_linear_expression
    low: int
    high: int


def _remembered(method):
    """Cache the results of a method for the lifetime of its object."""
    name = f'_results_of_{method.__name__}'

    @functools.wraps(method)
    def remembering(self, *args):
        results = self.__dict__.setdefault(name, {})
        if args not in results:
            results[args] = method(self, *args)
        return results[args]

    return remembering


class Model:
    """The program of a problem, with counts of members by side and domain.

    :ivar seating: variables.Variables
    """

    def __init__(self, problem, budget):
        self.problem = problem
        self.seating = variables.Variables(problem, budget)
        self._solver = self.seating.solver
        self._hosts = collections.defaultdict(list)
        for unit, host in self.seating.seats:
            self._hosts[unit].append(host)

    def row(self, comparison):
        """Add a comparison of two expressions; return the new row."""
        return self._solver.add_row(comparison)

    def limit(self, row, most):
        """Replace the bounds of a row by an upper bound."""
        self._solver.changeRowBounds(row.index, -math.inf, most)

    def column(self, high=math.inf):
        """Add a continuous column from 0 to ``high``."""
        return self._solver.add_column(high)

    def switch(self):
        """Add a 0/1 column."""
        return self._solver.add_whole(1)

    @_remembered
    def side(self, paths):
        """Return the Side of the members with some paths, a frozenset."""
        own = {u for u in self.seating.units if u.members[0] in paths}
        pins = collections.Counter(
            host for path, host in self.problem.pinned.items() if path in paths
        )
        hosts = {host for unit in own for host in self._hosts[unit]}
        return Side(
            paths=paths,
            units=tuple(unit for unit in self.seating.units if unit in own),
            pins=pins,
            hosts=tuple(sorted(hosts | pins.keys())),
        )

    def others(self, side):
        """Return the Side of all members that are not in another one."""
        return self.side(frozenset(self.problem.class_of) - side.paths)

    @_remembered
    def count(self, side, hosts):
        """Return the Count of a side on some hosts, a tuple of ids."""
        seats = tuple(
            seat
            for host in hosts
            for unit in side.units
            for seat in self.seating.seats.get((unit, host), ())
        )
        pins = sum(side.pins[host] for host in hosts)
        crowd = sum(len(unit.members) for unit in side.units)
        return Count(
            seats=seats,
            expr=highs.qsum([seat.column for seat in seats], pins),
            low=pins,
            high=pins + min(crowd, self._room(seats)),
        )

    @_remembered
    def counts(self, side, level):
        """Return {domain: Count} of all domains the side may use.

        The key None stands for all hosts without a domain at the level.
        """
        hosts = collections.defaultdict(list)
        for host in side.hosts:
            hosts[self.problem.domain(host, level)].append(host)
        return {
            domain: self.count(side, tuple(inside))
            for domain, inside in hosts.items()
        }

    @_remembered
    def size(self, side):
        """Return the Count of all placed members of a side."""
        low = 0
        for stem in self.problem.topology.stems:
            inside = [m.path for m in stem.members if m.path in side.paths]
            pins = sum(path in self.problem.pinned for path in inside)
            outside = stem.count - len(inside)
            low += max(pins, stem.min_count - outside)
        count = self.count(side, side.hosts)
        return dataclasses.replace(count, low=min(low, count.high))

    @_remembered
    def used(self, count):
        """Return a 0/1 expression that is 1 where a count is positive."""
        if count.low > 0 or count.high == 0:
            return highs.qsum([], min(count.low, 1))
        if count.high == 1:
            return count.expr
        used = self._solver.add_whole(1)
        self.row(count.expr >= used)
        # A row per class gives a tighter relaxation than one for all.
        for seats in variables.group(count.seats, lambda s: s.unit).values():
            room = sum(seat.place.most for seat in seats)
            most = min(len(seats[0].unit.members), room)
            self.row(variables.total(seats) <= used * most)
        return highs.qsum([used])

    @_remembered
    def digits(self, count):
        """Return count - low in unary: 0/1 columns, ones before zeros."""
        digits = [
            self._solver.add_whole(1) for _ in range(count.low, count.high)
        ]
        for first, second in itertools.pairwise(digits):
            self.row(first >= second)
        self.row(highs.qsum(digits, count.low) == count.expr)
        return digits

    def _room(self, seats):
        """Return an upper bound of the members in some variables."""
        by_host = variables.group(seats, lambda seat: seat.place.host)
        return sum(
            _room_on(self.problem.hosts[host], inside)
            for host, inside in by_host.items()
        )


def _room_on(host, seats):
    room = sum(seat.place.most for seat in seats)
    for resource, free in host.free.items():
        least = min(seat.place.request.get(resource, 0) for seat in seats)
        if least:
            room = min(room, free // least)
    return room

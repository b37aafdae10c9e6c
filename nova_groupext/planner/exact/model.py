# SPDX-License-Identifier: Apache-2.0
"""Counts of members by domain: what policies are made of.

Policies see no seats and no pins. They ask for the number of members of a
side in a domain and add rows over such numbers.
"""

import collections
import dataclasses
import functools
import itertools
import math

from highspy import highs

from nova_groupext.planner import units
from nova_groupext.planner.exact import seating


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """Some of the members.

    :ivar paths: all of them
    :ivar units: the units they form
    :ivar pins: host id -> how many are pinned there
    :ivar hosts: ids of the hosts where any of them may be
    """

    paths: frozenset
    units: tuple[units.Unit, ...]
    pins: collections.Counter
    hosts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Count:
    """How many of a side are in some part of the cloud.

    :ivar expr: the number as an expression
    :ivar low: it is never less
    :ivar high: it is never more
    """

    seats: tuple[seating.Seat, ...]
    expr: highs.highs_linear_expression
    low: int
    high: int


def _remembered(method):
    """Keep a method's results for as long as its object lives."""
    name = f'_results_of_{method.__name__}'

    @functools.wraps(method)
    def remembering(self, *args):
        results = self.__dict__.setdefault(name, {})
        if args not in results:
            results[args] = method(self, *args)
        return results[args]

    return remembering


class Model:
    """The seats of a problem, seen through sides and domains.

    :ivar seating: seating.Seating
    """

    def __init__(self, problem, clock):
        self.problem = problem
        self.seating = seating.Seating(problem, clock)
        self._solver = self.seating.solver
        self._hosts = collections.defaultdict(list)
        for unit, host in self.seating.seats:
            self._hosts[unit].append(host)

    def row(self, comparison):
        """Demand a comparison of two expressions; gives the new row."""
        return self._solver.add_row(comparison)

    def limit(self, row, most):
        """Demand instead that a row's expression is at most a number."""
        self._solver.changeRowBounds(row.index, -math.inf, most)

    def column(self, high=math.inf):
        """A new continuous column from 0 to ``high``."""
        return self._solver.add_column(high)

    @_remembered
    def side(self, paths):
        """The Side of the members with these paths, a frozenset."""
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
        """The Side of all members that are not in this one."""
        return self.side(frozenset(self.problem.class_of) - side.paths)

    @_remembered
    def count(self, side, hosts):
        """Count of a side's members on some hosts, a tuple of ids."""
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
        """Domain -> Count, wherever the side may have a member.

        All hosts without a domain at the level are together domain None.
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
        """Count of all placed members of a side."""
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
        """0/1 expression: whether a count is more than 0."""
        if count.low > 0 or count.high == 0:
            return highs.qsum([], min(count.low, 1))
        if count.high == 1:
            return count.expr
        used = self._solver.add_whole(1)
        self.row(count.expr >= used)
        # A row per unit binds closer than one for all of them.
        for seats in seating.group(count.seats, lambda s: s.unit).values():
            room = sum(seat.place.most for seat in seats)
            most = min(len(seats[0].unit.members), room)
            self.row(seating.total(seats) <= used * most)
        return highs.qsum([used])

    @_remembered
    def digits(self, count):
        """0/1 columns, ones before zeros, that add up to count - low."""
        digits = [
            self._solver.add_whole(1) for _ in range(count.low, count.high)
        ]
        for first, second in itertools.pairwise(digits):
            self.row(first >= second)
        self.row(highs.qsum(digits, count.low) == count.expr)
        return digits

    def _room(self, seats):
        """How many members fit into seats at most."""
        by_host = seating.group(seats, lambda seat: seat.place.host)
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

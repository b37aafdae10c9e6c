# SPDX-License-Identifier: Apache-2.0
"""The class x host integer programme, without its policies.

How many members of a unit go to a place is one integer column, a *seat*.
Pinned members need none.
"""

import collections
import dataclasses
import itertools
import math

from highspy import highs

from nova_groupext.planner import units
from nova_groupext.planner.exact import milp

# Larger ones would leave the range in which the solver is exact; what slips
# through its rounding forbid_crowd() takes back.
_LARGEST_AMOUNT = 1e9


@dataclasses.dataclass(frozen=True, eq=False)
class Seat:
    """A column: how many members of a unit go to a place."""

    unit: units.Unit
    place: units.Place
    column: highs.highs_var


class Seating:
    """Seats, the room on the hosts and how many members have to sit.

    :ivar solver: milp.Programme
    :ivar units: units.Unit objects, by first member
    :ivar seats: (unit, host id) -> list of Seat, by way
    """

    def __init__(self, problem, clock):
        self.problem = problem
        self.solver = milp.Programme(problem.seed, clock)
        self.units = units.form(problem)
        self.seats = collections.defaultdict(list)
        for unit in self.units:
            for place in units.places(problem, unit):
                column = self.solver.add_whole(place.most)
                seat = Seat(unit, place, column)
                self.seats[unit, place.host].append(seat)
        self._by_host = group(self, lambda seat: seat.place.host)
        self._add_room()
        self._add_members()

    def __iter__(self):
        return itertools.chain.from_iterable(self.seats.values())

    def read(self, values):
        """Seat -> members in it, for the seats a solution uses."""
        counts = {s: round(values[s.column.index]) for s in self}
        return {seat: count for seat, count in counts.items() if count}

    def plan(self, counts):
        """The rules.Plan that fills seats from the smallest host id on."""
        return units.plan(
            self.problem,
            [
                (seat.unit, seat.place.host, seat.place.way)
                for seat, count in counts.items()
                for _ in range(count)
            ],
        )

    def forbid_crowd(self, host, counts):
        """Forbid so many members on a host together."""
        crowd = [seat for seat in self._by_host[host] if seat in counts]
        as_many = []
        for seat in crowd:
            less = counts[seat] - 1
            is_as_many = self.solver.add_whole(1)
            more = is_as_many * (seat.place.most - less)
            self.solver.add_row(seat.column <= more + less)
            as_many.append(is_as_many)
        self.solver.add_row(highs.qsum(as_many) <= len(crowd) - 1)

    def _add_room(self):
        for host, seats in self._by_host.items():
            free = self.problem.hosts[host].free
            for resource in sorted(
                {r for s in seats for r in s.place.request}
            ):
                self._add_room_of(seats, resource, free.get(resource, 0))

    def _add_room_of(self, seats, resource, free):
        asks = {s: s.place.request.get(resource, 0) for s in seats}
        if sum(ask * seat.place.most for seat, ask in asks.items()) > free:
            # Small whole coefficients keep the solver's rounding harmless.
            step = math.gcd(*asks.values())
            scale = max(1.0, free // step / _LARGEST_AMOUNT)
            used = [
                seat.column * (ask // step / scale)
                for seat, ask in asks.items()
                if ask // step / scale > milp.TINY
            ]
            self.solver.add_row(highs.qsum(used) <= free // step / scale)

    def _add_members(self):
        by_unit = group(self, lambda seat: seat.unit)
        by_stem = collections.defaultdict(list)
        for unit in self.units:
            placed = total(by_unit[unit])
            if unit.optional:
                by_stem[unit.optional] += by_unit[unit]
                self.solver.add_row(placed <= len(unit.members))
            else:
                self.solver.add_row(placed == len(unit.members))
        for stem in self.problem.topology.stems:
            if stem.path in by_stem:
                pins = sum(m.path in self.problem.pinned for m in stem.members)
                placed = total(by_stem[stem.path])
                self.solver.add_row(placed >= stem.min_count - pins)


def total(seats):
    """Expression of the members in some seats."""
    return highs.qsum([seat.column for seat in seats])


def group(seats, key):
    """Seats by a key, in their order."""
    groups = collections.defaultdict(list)
    for seat in seats:
        groups[key(seat)].append(seat)
    return groups

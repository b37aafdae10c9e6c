# SPDX-License-Identifier: Apache-2.0
"""The class x host integer program, without its policies.

One integer column, the assignment variable, is the number of members of an
equivalence class on a host option. Pinned members have none.
"""

import collections
import dataclasses
import itertools
import math

from highspy import highs

from nova_groupext.solver.exact import milp
from nova_groupext.solver.model import equivalence

# The solver is not exact beyond this range; forbid_crowd() excludes solutions
# that exceed a capacity through its rounding.
_LARGEST_AMOUNT = 1e9


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """Assignment variable: number of members of a class on a host option."""

    unit: equivalence.EquivalenceClass
    place: equivalence.HostOption
    column: highs.highs_var


class Variables:
    """Assignment variables of a problem, with capacity and member rows.

    :ivar solver: milp.MixedIntegerProgram
    :ivar units: EquivalenceClass objects, by first member
    :ivar seats: (class, host id) -> list of Variable, by option
    """

    def __init__(self, problem, budget):
        self.problem = problem
        self.solver = milp.MixedIntegerProgram(problem.seed, budget)
        self.units = equivalence.equivalence_classes(problem)
        self.seats = collections.defaultdict(list)
        for unit in self.units:
            for place in equivalence.host_options(problem, unit):
                column = self.solver.add_whole(place.most)
                seat = Variable(unit, place, column)
                self.seats[unit, place.host].append(seat)
        self._by_host = group(self, lambda seat: seat.place.host)
        self._add_room()
        self._add_members()

    def __iter__(self):
        return itertools.chain.from_iterable(self.seats.values())

    def read(self, values):
        """Return {Variable: value} of the positive values in a solution."""
        counts = {s: round(values[s.column.index]) for s in self}
        return {seat: count for seat, count in counts.items() if count}

    def plan(self, counts):
        """Return the violations.Plan with the first paths on smallest ids."""
        return equivalence.plan(
            self.problem,
            [
                (seat.unit, seat.place.host, seat.place.way)
                for seat, count in counts.items()
                for _ in range(count)
            ],
        )

    def forbid_crowd(self, host, counts):
        """Add a no-good cut: some variable of the host has to be smaller."""
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
            # Rounding by the solver is harmless for small whole numbers.
            step = math.gcd(*asks.values())
            scale = max(1.0, free // step / _LARGEST_AMOUNT)
            used = [
                seat.column * (ask // step / scale)
                for seat, ask in asks.items()
                if ask // step / scale > milp.MIN_COEFFICIENT
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
    """Return the sum of some variables as an expression."""
    return highs.qsum([seat.column for seat in seats])


def group(seats, key):
    """Return {key: variables}, in their order."""
    groups = collections.defaultdict(list)
    for seat in seats:
        groups[key(seat)].append(seat)
    return groups

# SPDX-License-Identifier: Apache-2.0
"""Canonical tie-breaking: the smallest vector of host ids in path order.

For one member after the other, the solver looks for an optimal plan that has
the member on an earlier host. An unplaced member counts as the latest.
"""

import collections

from highspy import ObjSense
from highspy import highs

from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import variables

#: Largest product of members and columns: tie-breaking solves a program or two
#: for each member.
LIMIT = 10_000


def is_worth_it(exact):
    """Check whether the problem is small enough for tie-breaking."""
    columns = exact.model.seating.solver.numVariables
    return columns * len(exact.problem.topology.members) <= LIMIT


def break_ties(exact):
    """Replace a proven optimum by the one with the smallest host ids."""
    walk = _TieBreaker(exact)
    unit_of = {
        path: unit
        for unit in exact.model.seating.units
        for path in unit.members
    }
    for member in exact.problem.topology.members:
        if member.path in unit_of and exact.is_proved:
            walk.settle(unit_of[member.path])


class _TieBreaker:
    """Tie-breaking that fixes the host of one member after the other.

    :ivar settled: (class, host id) -> number of members fixed there
    :ivar hosts: class -> ids of its possible hosts, in order
    """

    def __init__(self, exact):
        self.exact = exact
        self.settled = collections.Counter()
        self.hosts = collections.defaultdict(list)
        for unit, host in exact.model.seating.seats:
            self.hosts[unit].append(host)

    def settle(self, unit):
        """Fix the next member of a class to its earliest possible host."""
        while self._find_earlier(unit):
            pass
        host = self._earliest(unit)
        if host is not None:
            self.settled[unit, host] += 1
            placed = variables.total(
                self.exact.model.seating.seats[unit, host]
            )
            self.exact.model.row(placed >= self.settled[unit, host])

    def _earliest(self, unit):
        """Return the next member's host in the incumbent, None if unplaced."""
        placed = collections.Counter()
        for seat, count in self.exact.counts.items():
            placed[seat.unit, seat.place.host] += count
        return next(
            (
                host
                for host in self.hosts[unit]
                if placed[unit, host] > self.settled[unit, host]
            ),
            None,
        )

    def _find_earlier(self, unit):
        """Find an equally good plan with the next member on an earlier host.

        :returns: True if there may be an even earlier host
        """
        host = self._earliest(unit)
        hosts = self.hosts[unit]
        earlier = hosts[: hosts.index(host)] if host in hosts else hosts
        if not earlier:
            return False
        exact = self.exact
        known = exact.counts
        settled = sum(self.settled[unit, each] for each in earlier)
        seats = [exact.model.seating.seats[unit, each] for each in earlier]
        placed = highs.qsum(variables.total(each) for each in seats)
        # Minimising the position often takes a single run per member.
        lateness = highs.qsum(
            variables.total(each) * number for number, each in enumerate(seats)
        )
        question = exact.model.row(placed >= settled + 1)
        outcome = exact.optimise(
            lateness, ObjSense.kMinimize, exact.budget.left()
        )
        if exact.counts is not known:
            is_least = outcome.status is milp.Status.OPTIMAL
            found = sum(exact.counts.get(s, 0) for some in seats for s in some)
            return not is_least or found > settled + 1
        if outcome.status is milp.Status.UNKNOWN:
            exact.is_proved = False
        exact.model.limit(question, settled)
        return False

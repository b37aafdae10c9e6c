# SPDX-License-Identifier: Apache-2.0
"""Between equally good plans: the smallest host ids, in path order.

Member by member, the solver is asked whether an equally good plan has this
one on an earlier host. A member that is left out counts as the latest.
"""

import collections

from highspy import ObjSense
from highspy import highs

from nova_groupext.planner.exact import milp
from nova_groupext.planner.exact import seating

#: Members times columns up to which the question is asked: it takes a
#: solution or two for each member.
LIMIT = 10_000


def is_worth_it(exact):
    """Whether the problem is small enough."""
    columns = exact.model.seating.solver.numVariables
    return columns * len(exact.problem.topology.members) <= LIMIT


def settle(exact):
    """Turn a proven optimum into the one with the smallest host ids."""
    walk = _Walk(exact)
    unit_of = {
        path: unit
        for unit in exact.model.seating.units
        for path in unit.members
    }
    for member in exact.problem.topology.members:
        if member.path in unit_of and exact.is_proved:
            walk.settle(unit_of[member.path])


class _Walk:
    """Settles members one after the other.

    :ivar settled: (unit, host id) -> members that have their host for good
    """

    def __init__(self, exact):
        self.exact = exact
        self.settled = collections.Counter()
        self.hosts = collections.defaultdict(list)
        for unit, host in exact.model.seating.seats:
            self.hosts[unit].append(host)

    def settle(self, unit):
        """Give the unit's next member the earliest host it can have."""
        while self._find_earlier(unit):
            pass
        host = self._earliest(unit)
        if host is not None:
            self.settled[unit, host] += 1
            placed = seating.total(self.exact.model.seating.seats[unit, host])
            self.exact.model.row(placed >= self.settled[unit, host])

    def _earliest(self, unit):
        """Where the best plan so far has it, None if it leaves it out."""
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
        """Look for an equally good plan that has it on an earlier host.

        :returns: whether there may be an even earlier one
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
        placed = highs.qsum(seating.total(each) for each in seats)
        # The earlier the better, so that one question is often enough.
        lateness = highs.qsum(
            seating.total(each) * number for number, each in enumerate(seats)
        )
        question = exact.model.row(placed >= settled + 1)
        outcome = exact.optimise(
            lateness, ObjSense.kMinimize, exact.clock.left()
        )
        if exact.counts is not known:
            is_least = outcome.status is milp.Status.OPTIMAL
            found = sum(exact.counts.get(s, 0) for some in seats for s in some)
            return not is_least or found > settled + 1
        if outcome.status is milp.Status.UNKNOWN:
            exact.is_proved = False
        exact.model.limit(question, settled)
        return False

# SPDX-License-Identifier: Apache-2.0
"""Canonical tie-breaking: the smallest vector of host ids in path order.

For one member after the other, the solver looks for an optimal plan that has
the member on an earlier host. An unplaced member counts as the latest.
"""

import collections

from highspy import ObjSense
import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact.objectives import ExactSolver


def is_affordable(exact: ExactSolver) -> bool:
    """Check whether the problem is small enough for tie-breaking."""
    columns = exact.model.variables.solver.columns
    return (
        columns * len(exact.problem.topology.members)
        <= tuning.MAX_TIE_BREAKING
    )


def break_ties(exact: ExactSolver) -> None:
    """Replace a proven optimum by the one with the smallest host ids."""
    tie_breaker = _TieBreaker(exact)
    class_of = {
        path: number
        for number, each in enumerate(exact.model.variables.eq_classes)
        for path in each.members
    }
    for member in exact.problem.topology.members:
        if member.path in class_of and exact.is_proved:
            tie_breaker.fix_next(class_of[member.path])


class _TieBreaker:
    """Tie-breaking that fixes the host of one member after the other.

    Classes and hosts are numbers, as in variables.Variables.

    :ivar fixed: number of members of each class fixed on each host
    """

    def __init__(self, exact: ExactSolver) -> None:
        self.exact = exact
        self.program = exact.model.variables
        self.fixed = collections.Counter[tuple[int, int]]()

    def fix_next(self, eq_class: int) -> None:
        """Fix the next member of a class to its earliest possible host."""
        while self._find_earlier(eq_class):
            pass
        host = self._earliest(eq_class)
        if host is not None:
            self.fixed[eq_class, host] += 1
            own = self.program.of_class(eq_class)
            on_host = own[self.program.hosts[own] == host]
            placed = self.program.total(on_host)
            self.exact.model.add_row(placed >= self.fixed[eq_class, host])

    def _earliest(self, eq_class: int) -> int | None:
        """Return the next member's host in the incumbent, None if unplaced."""
        own = self.program.of_class(eq_class)
        counts = self.exact.incumbent.counts[own]
        placed = np.bincount(self.program.hosts[own], counts)
        return next(
            (
                host
                for host in np.flatnonzero(placed).tolist()
                if placed[host] > self.fixed[eq_class, host]
            ),
            None,
        )

    def _find_earlier(self, eq_class: int) -> bool:
        """Find an equally good plan with the next member on an earlier host.

        :returns: True if there may be an even earlier host
        """
        host = self._earliest(eq_class)
        own = self.program.of_class(eq_class)
        hosts = self.program.hosts[own]
        earlier = own if host is None else own[hosts < host]
        if not len(earlier):
            return False
        exact = self.exact
        before = exact.incumbent
        # Positions of the hosts among those of the class.
        used, position = np.unique(
            self.program.hosts[earlier], return_inverse=True
        )
        fixed = sum(self.fixed[eq_class, int(each)] for each in used)
        row = exact.model.add_row(self.program.total(earlier) >= fixed + 1)
        # Minimising the position often takes a single run per member.
        result = exact.optimise(
            self.program.total(earlier, position),
            ObjSense.kMinimize,
            exact.budget,
        )
        if exact.incumbent is not before:
            is_least = result.status is milp.Status.OPTIMAL
            placed = int(exact.incumbent.counts[earlier].sum())
            return not is_least or placed > fixed + 1
        if result.status is milp.Status.UNKNOWN:
            exact.is_proved = False
        self.program.solver.limit_row(row, fixed)
        return False

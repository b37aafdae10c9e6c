# SPDX-License-Identifier: Apache-2.0
"""Canonical tie-breaking: the smallest vector of host ids in path order.

For one member after the other, the solver looks for an optimal plan that has
the member on an earlier host. An unplaced member counts as the latest.
"""

import collections

from highspy import ObjSense

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import variables
from nova_groupext.solver.exact.objectives import ExactSolver
from nova_groupext.solver.model.equivalence import EquivalenceClass


def is_affordable(exact: ExactSolver) -> bool:
    """Check whether the problem is small enough for tie-breaking."""
    columns: int = exact.model.variables.solver.numVariables
    return (
        columns * len(exact.problem.topology.members)
        <= tuning.MAX_TIE_BREAKING
    )


def break_ties(exact: ExactSolver) -> None:
    """Replace a proven optimum by the one with the smallest host ids."""
    tie_breaker = _TieBreaker(exact)
    eq_class_of = {
        path: eq_class
        for eq_class in exact.model.variables.eq_classes
        for path in eq_class.members
    }
    for member in exact.problem.topology.members:
        if member.path in eq_class_of and exact.is_proved:
            tie_breaker.fix_next(eq_class_of[member.path])


class _TieBreaker:
    """Tie-breaking that fixes the host of one member after the other.

    :ivar fixed: number of members of each class fixed on each host
    :ivar hosts: possible hosts of each class, in order
    """

    def __init__(self, exact: ExactSolver) -> None:
        self.exact = exact
        self.fixed = collections.Counter[tuple[EquivalenceClass, HostId]]()
        self.hosts = collections.defaultdict[EquivalenceClass, list[HostId]](
            list
        )
        for eq_class, host in exact.model.variables.assignments:
            self.hosts[eq_class].append(host)

    def fix_next(self, eq_class: EquivalenceClass) -> None:
        """Fix the next member of a class to its earliest possible host."""
        while self._find_earlier(eq_class):
            pass
        host = self._earliest(eq_class)
        if host is not None:
            self.fixed[eq_class, host] += 1
            placed = variables.sum_columns(
                self.exact.model.variables.assignments[eq_class, host]
            )
            self.exact.model.add_row(placed >= self.fixed[eq_class, host])

    def _earliest(self, eq_class: EquivalenceClass) -> HostId | None:
        """Return the next member's host in the incumbent, None if unplaced."""
        placed = collections.Counter[tuple[EquivalenceClass, HostId]]()
        for variable, count in self.exact.incumbent.counts.items():
            placed[variable.eq_class, variable.host_option.host] += count
        return next(
            (
                host
                for host in self.hosts[eq_class]
                if placed[eq_class, host] > self.fixed[eq_class, host]
            ),
            None,
        )

    def _find_earlier(self, eq_class: EquivalenceClass) -> bool:
        """Find an equally good plan with the next member on an earlier host.

        :returns: True if there may be an even earlier host
        """
        host = self._earliest(eq_class)
        hosts = self.hosts[eq_class]
        earlier = hosts if host is None else hosts[: hosts.index(host)]
        if not earlier:
            return False
        exact = self.exact
        before = exact.incumbent
        fixed = sum(self.fixed[eq_class, name] for name in earlier)
        by_host = [
            exact.model.variables.assignments[eq_class, name]
            for name in earlier
        ]
        placed = milp.total(map(variables.sum_columns, by_host))
        # Minimising the position often takes a single run per member.
        position = milp.total(
            variables.sum_columns(assignments) * number
            for number, assignments in enumerate(by_host)
        )
        row = exact.model.add_row(placed >= fixed + 1)
        result = exact.optimise(
            position, ObjSense.kMinimize, exact.budget.remaining()
        )
        if exact.incumbent is not before:
            is_least = result.status is milp.Status.OPTIMAL
            placed_earlier = sum(
                exact.incumbent.counts.get(variable, 0)
                for assignments in by_host
                for variable in assignments
            )
            return not is_least or placed_earlier > fixed + 1
        if result.status is milp.Status.UNKNOWN:
            exact.is_proved = False
        exact.model.limit_row(row, fixed)
        return False

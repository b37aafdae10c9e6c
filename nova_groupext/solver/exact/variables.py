# SPDX-License-Identifier: Apache-2.0
"""The class x host integer program, without its policies.

One integer column, the assignment variable, is the number of members of an
equivalence class on a host option. Pinned members have none.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
from typing import TypeAlias
from typing import TypeVar

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import milp
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies.tools import Expression

_Key = TypeVar('_Key')

# The solver is not exact beyond this range; add_no_good_cut() excludes
# solutions that exceed a capacity through its rounding.
_MAX_AMOUNT = 1e9


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """Assignment variable: number of members of a class on a host option."""

    eq_class: equivalence.EquivalenceClass
    host_option: equivalence.HostOption
    column: milp.Column


#: Positive values of the variables in a plan.
Values: TypeAlias = Mapping[Variable, int]


class Variables:
    """Assignment variables of a problem, with capacity and member rows.

    :ivar eq_classes: by first member
    :ivar assignments: class and host -> variables, by option
    """

    def __init__(
        self, problem: problems.Problem, budget: time_budget.TimeBudget
    ) -> None:
        self.problem = problem
        self.solver = milp.MixedIntegerProgram(problem.seed, budget)
        self.eq_classes = equivalence.equivalence_classes(problem)
        self.assignments = collections.defaultdict[
            tuple[equivalence.EquivalenceClass, HostId], list[Variable]
        ](list)
        for eq_class in self.eq_classes:
            for host_option in equivalence.host_options(problem, eq_class):
                column = self.solver.add_integer(host_option.max_members)
                variable = Variable(eq_class, host_option, column)
                self.assignments[eq_class, host_option.host].append(variable)
        self._by_host = group_by(
            self, lambda variable: variable.host_option.host
        )
        self._add_capacity_rows()
        self._add_member_rows()

    def __iter__(self) -> Iterator[Variable]:
        return itertools.chain.from_iterable(self.assignments.values())

    def read(self, values: Sequence[float]) -> Values:
        """Return the positive values in a solution."""
        counts = {s: round(values[s.column.index]) for s in self}
        return {variable: count for variable, count in counts.items() if count}

    def plan(self, counts: Values) -> violations.Plan:
        """Return the plan with the first paths on smallest ids."""
        return equivalence.to_plan(
            self.problem,
            [
                (
                    variable.eq_class,
                    variable.host_option.host,
                    variable.host_option.option,
                )
                for variable, count in counts.items()
                for _ in range(count)
            ],
        )

    def add_no_good_cut(self, host: HostId, counts: Values) -> None:
        """Add a no-good cut: some variable of the host has to be smaller."""
        positive = [
            variable for variable in self._by_host[host] if variable in counts
        ]
        indicators = []
        for variable in positive:
            # The indicator is 1 unless the variable becomes smaller.
            less = counts[variable] - 1
            indicator = self.solver.add_integer(1)
            more = indicator * (variable.host_option.max_members - less)
            self.solver.add_row(variable.column <= more + less)
            indicators.append(indicator)
        self.solver.add_row(milp.total(indicators) <= len(positive) - 1)

    def _add_capacity_rows(self) -> None:
        for host, assignments in self._by_host.items():
            free = self.problem.hosts[host].free
            for resource in sorted(
                {r for each in assignments for r in each.host_option.request}
            ):
                self._add_capacity_row(
                    assignments, resource, free.get(resource, 0)
                )

    def _add_capacity_row(
        self, assignments: Iterable[Variable], resource: str, free: int
    ) -> None:
        amounts = {
            variable: variable.host_option.request.get(resource, 0)
            for variable in assignments
        }
        max_used = sum(
            amount * variable.host_option.max_members
            for variable, amount in amounts.items()
        )
        if max_used > free:
            # Rounding by the solver is harmless for small whole numbers.
            step = math.gcd(*amounts.values())
            scale = max(1.0, free // step / _MAX_AMOUNT)
            used = [
                variable.column * (amount // step / scale)
                for variable, amount in amounts.items()
                if amount // step / scale > milp.MIN_COEFFICIENT
            ]
            self.solver.add_row(milp.total(used) <= free // step / scale)

    def _add_member_rows(self) -> None:
        by_eq_class = group_by(self, lambda variable: variable.eq_class)
        by_member_set = collections.defaultdict[Path, list[Variable]](list)
        for eq_class in self.eq_classes:
            placed = sum_columns(by_eq_class[eq_class])
            if eq_class.optional:
                by_member_set[eq_class.optional] += by_eq_class[eq_class]
                self.solver.add_row(placed <= len(eq_class.members))
            else:
                self.solver.add_equality(placed, len(eq_class.members))
        for member_set in self.problem.topology.member_sets:
            if member_set.path in by_member_set:
                required = assumptions.count_required(self.problem, member_set)
                placed = sum_columns(by_member_set[member_set.path])
                self.solver.add_row(placed >= required)


def sum_columns(assignments: Iterable[Variable]) -> Expression:
    """Return the sum of some variables as an expression."""
    return milp.total([variable.column for variable in assignments])


def group_by(
    assignments: Iterable[Variable], key: Callable[[Variable], _Key]
) -> dict[_Key, list[Variable]]:
    """Return variables by key, in their order."""
    groups = collections.defaultdict[_Key, list[Variable]](list)
    for variable in assignments:
        groups[key(variable)].append(variable)
    return groups

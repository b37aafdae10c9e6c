# SPDX-License-Identifier: Apache-2.0
"""Counts of members by domain, the terms of all policy rows.

The rows of policies use neither assignment variables nor pinned members
directly, but the number of members of a side in a domain.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
import itertools
import math
from typing import TypeVar
from typing import TypeVarTuple

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import variables
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies.tools import Comparison
from nova_groupext.solver.policies.tools import Expression


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """A set of members, such as one part of a relationship.

    :ivar pinned: number of members pinned on each host
    :ivar hosts: hosts where any of them may be, sorted
    """

    paths: frozenset[Path]
    eq_classes: tuple[equivalence.EquivalenceClass, ...]
    pinned: collections.Counter[HostId]
    hosts: tuple[HostId, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Count:
    """Number of members of a side on some hosts.

    :ivar assignments: assignment variables that it sums up
    :ivar lower: lower bound
    :ivar upper: upper bound
    """

    assignments: tuple[variables.Variable, ...]
    expression: Expression
    lower: int
    upper: int


_Arguments = TypeVarTuple('_Arguments')
_Result = TypeVar('_Result')


def _cached(
    method: Callable[['Model', *_Arguments], _Result],
) -> Callable[['Model', *_Arguments], _Result]:
    """Cache the results of a method for the lifetime of its object."""
    name = f'_results_of_{method.__name__}'

    @functools.wraps(method)
    def wrapper(self: 'Model', *args: *_Arguments) -> _Result:
        results: dict[tuple[*_Arguments], _Result] = self.__dict__.setdefault(
            name, {}
        )
        if args not in results:
            results[args] = method(self, *args)
        return results[args]

    return wrapper


class Model:
    """The program of a problem, with counts of members by side and domain."""

    def __init__(
        self, problem: problems.Problem, budget: time_budget.TimeBudget
    ) -> None:
        self.problem = problem
        self.variables = variables.Variables(problem, budget)
        self._solver = self.variables.solver
        self._hosts = collections.defaultdict[
            equivalence.EquivalenceClass, list[HostId]
        ](list)
        for eq_class, host in self.variables.assignments:
            self._hosts[eq_class].append(host)

    def add_row(self, comparison: Comparison) -> milp.Row:
        """Add a comparison of two expressions; return the new row."""
        return self._solver.add_row(comparison)

    def limit_row(self, row: milp.Row, upper: float) -> None:
        """Replace the bounds of a row by an upper bound."""
        self._solver.changeRowBounds(row.index, -math.inf, upper)

    def add_column(self, upper: float = math.inf) -> milp.Column:
        """Add a continuous column from 0 to ``upper``."""
        return self._solver.add_column(upper)

    def add_binary(self) -> milp.Column:
        """Add a 0/1 column."""
        return self._solver.add_integer(1)

    @_cached
    def side(self, paths: frozenset[Path]) -> Side:
        """Return the side of some members."""
        inside = equivalence.covered(self.variables.eq_classes, paths)
        pinned = collections.Counter(
            host for path, host in self.problem.pinned.items() if path in paths
        )
        hosts = {host for eq_class in inside for host in self._hosts[eq_class]}
        return Side(
            paths=paths,
            eq_classes=tuple(inside),
            pinned=pinned,
            hosts=tuple(sorted(hosts | pinned.keys())),
        )

    def complement(self, side: Side) -> Side:
        """Return the side of all members that are not in another one."""
        return self.side(frozenset(self.problem.class_of) - side.paths)

    @_cached
    def count(self, side: Side, hosts: tuple[HostId, ...]) -> Count:
        """Return the count of a side on some hosts."""
        assignments = tuple(
            variable
            for host in hosts
            for eq_class in side.eq_classes
            for variable in self.variables.assignments.get(
                (eq_class, host), ()
            )
        )
        pinned = sum(side.pinned[host] for host in hosts)
        size = sum(len(eq_class.members) for eq_class in side.eq_classes)
        return Count(
            assignments=assignments,
            expression=milp.total(
                [variable.column for variable in assignments], pinned
            ),
            lower=pinned,
            upper=pinned + min(size, self._max_members(assignments)),
        )

    @_cached
    def counts(self, side: Side, level: Level) -> dict[Domain | None, Count]:
        """Return the counts of all domains the side may use.

        The key None stands for all hosts without a domain at the level.
        """
        hosts = collections.defaultdict[Domain | None, list[HostId]](list)
        for host in side.hosts:
            hosts[self.problem.domain(host, level)].append(host)
        return {
            domain: self.count(side, tuple(inside))
            for domain, inside in hosts.items()
        }

    @_cached
    def size(self, side: Side) -> Count:
        """Return the count of all placed members of a side."""
        lower = 0
        for member_set in self.problem.topology.member_sets:
            inside = [
                m.path for m in member_set.members if m.path in side.paths
            ]
            pinned = sum(path in self.problem.pinned for path in inside)
            outside = member_set.count - len(inside)
            lower += max(pinned, member_set.min_count - outside)
        count = self.count(side, side.hosts)
        return dataclasses.replace(count, lower=min(lower, count.upper))

    @_cached
    def indicator(self, count: Count) -> Expression:
        """Return a 0/1 expression that is 1 where a count is positive."""
        if count.lower > 0 or count.upper == 0:
            return milp.total([], min(count.lower, 1))
        if count.upper == 1:
            return count.expression
        is_used = self._solver.add_integer(1)
        self.add_row(count.expression >= is_used)
        # A row per class gives a tighter relaxation than one for all.
        for assignments in variables.group_by(
            count.assignments, lambda variable: variable.eq_class
        ).values():
            most = min(
                len(assignments[0].eq_class.members),
                sum(
                    variable.host_option.max_members
                    for variable in assignments
                ),
            )
            self.add_row(variables.sum_columns(assignments) <= is_used * most)
        return milp.total([is_used])

    @_cached
    def unary_expansion(self, count: Count) -> list[milp.Column]:
        """Return count - lower in unary: 0/1 columns, ones before zeros."""
        columns = [
            self._solver.add_integer(1)
            for _ in range(count.lower, count.upper)
        ]
        for first, second in itertools.pairwise(columns):
            self.add_row(first >= second)
        self._solver.add_equality(
            milp.total(columns, count.lower), count.expression
        )
        return columns

    def _max_members(self, assignments: Sequence[variables.Variable]) -> int:
        """Return an upper bound of the members in some variables."""
        by_host = variables.group_by(
            assignments, lambda variable: variable.host_option.host
        )
        return sum(
            _max_members_on(self.problem.hosts[host], inside)
            for host, inside in by_host.items()
        )


def _max_members_on(
    host: problems.Host, assignments: Sequence[variables.Variable]
) -> int:
    limit = sum(variable.host_option.max_members for variable in assignments)
    least = {
        resource: min(
            variable.host_option.request.get(resource, 0)
            for variable in assignments
        )
        for resource in host.free
    }
    return host.count_fits(least, limit)

# SPDX-License-Identifier: Apache-2.0
"""Counts of members by domain, the terms of all policy rows.

The rows of policies use neither assignment variables nor pinned members
directly, but the number of members of a side in a domain.
"""

import collections
from collections.abc import Callable
import functools
import itertools
import math
from typing import TypeVar
from typing import TypeVarTuple

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import variables
from nova_groupext.solver.exact.expressions import Expression
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies.tools import Comparison


class Side:
    """A set of members, such as one part of a relationship.

    Its variables are ordered by host, and on a host by class.

    :ivar eq_classes: numbers of the classes
    :ivar pinned: number of members pinned on each host
    :ivar variables: assignment variables of its members
    :ivar host_of: number of the host of each
    """

    def __init__(
        self,
        program: variables.Variables,
        paths: frozenset[Path],
    ) -> None:
        self.paths = paths
        self._program = program
        self.eq_classes = [
            number
            for number, each in enumerate(program.eq_classes)
            if each.members[0] in paths
        ]
        self.pinned = collections.Counter(
            host
            for path, host in program.problem.pinned.items()
            if path in paths
        )
        found = arrays.concatenate(map(program.of_class, self.eq_classes))
        order = np.argsort(program.hosts[found], kind='stable')
        self.variables: Ints = found[order]
        self.host_of: Ints = program.hosts[self.variables]

    @functools.cached_property
    def hosts(self) -> tuple[HostId, ...]:
        """Ids of the hosts where any of them may be, sorted."""
        ids = map(self._program.arrays.ids.__getitem__, self._used_hosts)
        return tuple(sorted({*ids, *self.pinned}))

    @property
    def size(self) -> int:
        """Number of the members that are not pinned."""
        eq_classes = self._program.eq_classes
        return sum(len(eq_classes[each].members) for each in self.eq_classes)

    def on_host(self, host: HostId) -> Ints:
        """Return the positions of a host's variables."""
        number = self._program.arrays.index[host]
        first = np.searchsorted(self.host_of, number)
        return np.arange(first, np.searchsorted(self.host_of, number + 1))

    @functools.cached_property
    def max_by_host(self) -> Ints:
        """Upper bound of the members on each host of the cloud, by number."""
        program = self._program
        most = np.zeros(len(program.arrays.ids), np.int64)
        if not len(self.variables):
            return most
        starts = arrays.starts(self.host_of)
        used = self.host_of[starts]
        limits = np.add.reduceat(program.max_members[self.variables], starts)
        for resource, amounts in program.amounts.items():
            least = np.minimum.reduceat(amounts[self.variables], starts)
            fitting = program.arrays.free(resource)[used] // np.maximum(
                least, 1
            )
            limits = np.where(least > 0, np.minimum(limits, fitting), limits)
        most[used] = limits
        return most

    @property
    def _used_hosts(self) -> Ints:
        return self.host_of[arrays.starts(self.host_of)]


class Count:
    """Number of members of a side on some hosts.

    :ivar variables: assignment variables that it sums up
    :ivar pinned: number of pinned members among them
    :ivar upper: upper bound
    """

    def __init__(
        self,
        program: variables.Variables,
        summed: Ints,
        pinned: int,
        upper: int,
        lower: int | None = None,
    ) -> None:
        self._program = program
        self.variables = summed
        self.pinned = pinned
        self.lower = pinned if lower is None else lower
        self.upper = upper

    @functools.cached_property
    def expression(self) -> Expression:
        """The number as an expression."""
        expression = self._program.total(self.variables)
        expression.constant = self.pinned
        return expression

    def value(self, counts: Ints) -> int:
        """Return the number in a solution."""
        return self.pinned + int(counts[self.variables].sum())


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

    def add_row(self, comparison: Comparison) -> int:
        """Add a comparison of two expressions; return the row's number."""
        return self._solver.add_row(comparison)

    def add_column(self, upper: float = math.inf) -> expressions.Column:
        """Add a continuous column from 0 to ``upper``."""
        return self._solver.add_column(upper)

    def add_binary(self) -> expressions.Column:
        """Add a 0/1 column."""
        return self._solver.add_integer(1)

    @_cached
    def side(self, paths: frozenset[Path]) -> Side:
        """Return the side of some members."""
        return Side(self.variables, paths)

    def complement(self, side: Side) -> Side:
        """Return the side of all members that are not in another one."""
        return self.side(frozenset(self.problem.class_of) - side.paths)

    @_cached
    def count(self, side: Side, hosts: tuple[HostId, ...]) -> Count:
        """Return the count of a side on some hosts."""
        positions = arrays.concatenate(map(side.on_host, hosts))
        pinned = sum(side.pinned[host] for host in hosts)
        numbers = [self.variables.arrays.index[host] for host in hosts]
        return self._count(
            side, positions, pinned, int(side.max_by_host[numbers].sum())
        )

    @_cached
    def counts(self, side: Side, level: Level) -> dict[Domain | None, Count]:
        """Return the counts of all domains the side may use.

        The key None stands for all hosts without a domain at the level.
        """
        domains = self.variables.arrays.domains(level)
        # Hosts without a domain come first.
        numbers = domains.numbers[side.host_of] + 1
        order = np.argsort(numbers, kind='stable')
        bounds = np.searchsorted(numbers[order], np.arange(domains.size + 2))
        most = np.bincount(
            domains.numbers + 1, side.max_by_host, domains.size + 1
        )
        pinned = collections.Counter[int]()
        for host, number in side.pinned.items():
            where = self.variables.arrays.index[host]
            pinned[int(domains.numbers[where]) + 1] += number
        found: dict[Domain | None, Count] = {}
        for number in sorted({*numbers.tolist(), *pinned}):
            positions = order[bounds[number] : bounds[number + 1]]
            name = domains.names[number - 1] if number else None
            found[name] = self._count(
                side, positions, pinned[number], int(most[number])
            )
        return found

    def _count(
        self, side: Side, positions: Ints, pinned: int, most: int
    ) -> Count:
        return Count(
            self.variables,
            side.variables[positions],
            pinned,
            pinned + min(side.size, most),
        )

    @_cached
    def size(self, side: Side) -> Count:
        """Return the count of all placed members of a side."""
        count = self.count(side, side.hosts)
        return Count(
            *(self.variables, count.variables, count.pinned, count.upper),
            min(self.least(side), count.upper),
        )

    @_cached
    def least(self, side: Side) -> int:
        """Return the least number of members of a side in a plan."""
        lower = 0
        for member_set in self.problem.topology.member_sets:
            inside = [
                m.path for m in member_set.members if m.path in side.paths
            ]
            pinned = sum(path in self.problem.pinned for path in inside)
            outside = member_set.count - len(inside)
            lower += max(pinned, member_set.min_count - outside)
        return lower

    @_cached
    def indicator(self, count: Count) -> Expression:
        """Return a 0/1 expression that is 1 where a count is positive."""
        if count.lower > 0 or count.upper == 0:
            return Expression(constant=min(count.lower, 1))
        if count.upper == 1:
            return count.expression
        is_used = self._solver.add_integer(1)
        self.add_row(count.expression >= is_used)
        # A row per class gives a tighter relaxation than one for all.
        classes = self.variables.class_of[count.variables]
        order = np.argsort(classes, kind='stable')
        starts = arrays.starts(classes[order])
        for own in np.split(count.variables[order], starts[1:]):
            eq_class = self.variables.eq_classes[
                self.variables.class_of[own[0]]
            ]
            most = min(
                len(eq_class.members),
                int(self.variables.max_members[own].sum()),
            )
            self.add_row(self.variables.total(own) <= is_used * most)
        return is_used

    @_cached
    def unary_expansion(self, count: Count) -> list[expressions.Column]:
        """Return count - lower in unary: 0/1 columns, ones before zeros."""
        columns = [
            self._solver.add_integer(1)
            for _ in range(count.lower, count.upper)
        ]
        for first, second in itertools.pairwise(columns):
            self.add_row(first >= second)
        number = expressions.total(columns, count.lower)
        self.add_row(number.equals(count.expression))
        return columns

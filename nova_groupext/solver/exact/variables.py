# SPDX-License-Identifier: Apache-2.0
"""The class x host integer program, without its policies.

An assignment variable is the number of members of an equivalence class on a
host, with one of the requests that the host offers to the class. Pinned
members have none. Variables are numbers here, ordered by class, host and
option, and arrays have an entry for each.
"""

from collections.abc import Sequence
import functools
import itertools
from typing import NamedTuple

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact.expressions import Expression
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import EquivalenceClass

# The solver is not exact beyond this range; add_no_good_cut() excludes
# solutions that exceed a capacity through its rounding.
_MAX_AMOUNT = 1e9


class _Options(NamedTuple):
    """Requests that hosts offer to a class, an entry for each.

    :ivar amounts: by resource
    :ivar max_members: number of members that fit on the empty host
    """

    hosts: Ints
    options: Ints
    amounts: dict[str, Ints]
    max_members: Ints


class Variables:
    """Assignment variables of a problem, with capacity and member rows.

    :ivar eq_classes: by first member
    :ivar arrays: host_arrays.HostArrays that number the hosts
    :ivar class_of: number of the equivalence class
    :ivar hosts: number of the host
    :ivar options: index of the request
    :ivar max_members: upper bound
    """

    def __init__(
        self, problem: problems.Problem, budget: time_budget.TimeBudget
    ) -> None:
        self.problem = problem
        self.solver = milp.MixedIntegerProgram(problem.seed, budget)
        self.arrays = host_arrays.of(problem)
        self.eq_classes = equivalence.equivalence_classes(problem)
        found = [self._options(each) for each in self.eq_classes]
        sizes = [len(each.hosts) for each in found]
        self._starts = [0, *itertools.accumulate(sizes)]
        self.class_of = np.repeat(np.arange(len(found)), sizes)
        self.hosts = arrays.concatenate(each.hosts for each in found)
        self.options = arrays.concatenate(each.options for each in found)
        self.max_members = arrays.concatenate(
            each.max_members for each in found
        )
        self.amounts = {
            resource: arrays.concatenate(
                each.amounts.get(resource, np.zeros(size, np.int64))
                for each, size in zip(found, sizes, strict=True)
            )
            for resource in sorted(set().union(*(e.amounts for e in found)))
        }
        self._first = self.solver.add_integers(self.max_members)
        self._add_capacity_rows()
        self._add_member_rows()

    def __len__(self) -> int:
        return len(self.hosts)

    def of_class(self, number: int) -> Ints:
        """Return the variables of an equivalence class."""
        return np.arange(self._starts[number], self._starts[number + 1])

    @functools.cached_property
    def optional(self) -> Ints:
        """Variables of members that a plan may leave out."""
        may_be_absent = np.array(
            [bool(each.optional) for each in self.eq_classes], bool
        )
        return np.flatnonzero(may_be_absent[self.class_of])

    @property
    def current(self) -> Ints:
        """Variables of members on their current host."""
        is_current = np.zeros(len(self), bool)
        for number, eq_class in enumerate(self.eq_classes):
            own = self.of_class(number)
            hosts = [self.arrays.index[host] for host in eq_class.current]
            is_current[own] = np.isin(self.hosts[own], hosts)
        return np.flatnonzero(is_current)

    def host_ids(self, variables: Ints) -> list[HostId]:
        """Return the ids of the hosts of some variables."""
        return [self.arrays.ids[host] for host in self.hosts[variables]]

    def find(self, number: int, host: HostId, option: int) -> int | None:
        """Return the variable of a class on a host, None if there is none.

        :param number: of the equivalence class
        """
        own = self.of_class(number)
        is_found = (self.hosts[own] == self.arrays.index[host]) & (
            self.options[own] == option
        )
        found = own[is_found]
        return int(found[0]) if len(found) else None

    def total(
        self, variables: Ints, factors: Floats | Ints | None = None
    ) -> Expression:
        """Return the sum of some variables.

        :param factors: one for each variable; 1 by default
        """
        columns = (variables + self._first).tolist()
        if factors is None:
            return Expression(columns, [1.0] * len(columns))
        return Expression(columns, factors.tolist())

    def scores(self) -> Floats:
        """Return the operator's score of the host of each variable."""
        scores = np.zeros(len(self))
        for number, eq_class in enumerate(self.eq_classes):
            if by_host := eq_class.member_class.scores:
                own = self.of_class(number)
                scores[own] = [
                    by_host.get(host, 0) for host in self.host_ids(own)
                ]
        return scores

    def read(self, values: Sequence[float]) -> Ints:
        """Return the values of all variables in a solution."""
        own = np.array(values[self._first : self._first + len(self)])
        counts: Ints = np.rint(own).astype(np.int64)
        return counts

    def suggest(self, counts: Ints) -> None:
        """Suggest values of all variables for the start of the next run."""
        self.solver.pass_additions()
        columns = np.arange(len(self), dtype=np.int32) + self._first
        self.solver.setSolution(len(self), columns, counts.astype(float))

    def plan(self, counts: Ints) -> violations.Plan:
        """Return the plan with the first paths on smallest ids."""
        return equivalence.to_plan(
            self.problem,
            [
                (
                    self.eq_classes[self.class_of[variable]],
                    self.arrays.ids[self.hosts[variable]],
                    int(self.options[variable]),
                )
                for variable in np.flatnonzero(counts)
                for _ in range(counts[variable])
            ],
        )

    def add_no_good_cut(self, host: HostId, counts: Ints) -> None:
        """Add a no-good cut: some variable of the host has to be smaller."""
        is_on_host = self.hosts == self.arrays.index[host]
        positive = np.flatnonzero(is_on_host & (counts > 0))
        indicators = []
        for variable in positive:
            # The indicator is 1 unless the variable becomes smaller.
            less = int(counts[variable]) - 1
            indicator = self.solver.add_integer(1)
            more = indicator * (int(self.max_members[variable]) - less)
            self.solver.add_row(
                self.total(np.array([variable])) <= more + less
            )
            indicators.append(indicator)
        self.solver.add_row(expressions.total(indicators) <= len(positive) - 1)

    def _options(self, eq_class: EquivalenceClass) -> _Options:
        member_class = eq_class.member_class
        allowed = self._allowed(eq_class)
        special = [self.arrays.index[h] for h in member_class.alternatives]
        is_plain = allowed.copy()
        is_plain[special] = False
        plain = np.flatnonzero(is_plain)
        request = member_class.request
        free = self.arrays.free_amounts([*request])[:, plain]
        needs = np.array([*request.values()], np.int64)[:, None]
        options = [(plain, np.zeros_like(plain), request)]
        most = self._max_per_host(eq_class)
        limits = [np.minimum(arrays.count_fits(free, needs), most)]
        for host in filter(allowed.__getitem__, special):
            name = self.arrays.ids[host]
            for number, each in enumerate(member_class.options(name)):
                options.append((np.array([host]), np.array([number]), each))
                fitting = self.problem.hosts[name].count_fits(each, most)
                limits.append(np.array([fitting]))
        hosts = arrays.concatenate(each[0] for each in options)
        numbers = arrays.concatenate(each[1] for each in options)
        max_members = arrays.concatenate(limits)
        order = np.lexsort((numbers, hosts))
        order = order[max_members[order] > 0]
        resources = set().union(*(each[2] for each in options))
        return _Options(
            hosts[order],
            numbers[order],
            {
                resource: arrays.concatenate(
                    np.full(len(where), amounts.get(resource, 0))
                    for where, _, amounts in options
                )[order]
                for resource in resources
            },
            max_members[order],
        )

    def _allowed(self, eq_class: EquivalenceClass) -> Bools:
        """Return by host whether a class may use it, capacity aside."""
        allowed = self.arrays.allowed(eq_class.member_class)
        for level in eq_class.scopes:
            allowed = allowed & (self.arrays.domains(level).numbers >= 0)
        return allowed

    def _max_per_host(self, eq_class: EquivalenceClass) -> int:
        """Return an upper bound on members of a class on one host."""
        limits = (
            policy.domain_limit
            for policy in self.problem.topology.policies
            if policy.strict and eq_class.members[0] in policy.paths
        )
        return min(
            [len(eq_class.members), *(n for n in limits if n is not None)]
        )

    def _add_capacity_rows(self) -> None:
        """Limit the used amount on each host that may be too small."""
        order = np.argsort(self.hosts, kind='stable')
        hosts = self.hosts[order]
        starts = arrays.starts(hosts)
        row_of = np.repeat(
            np.arange(len(starts)), np.diff([*starts, len(hosts)])
        )
        for resource, by_variable in self.amounts.items():
            if not len(order):
                break
            amounts = by_variable[order]
            free = self.arrays.free(resource)[hosts[starts]]
            most = np.add.reduceat(amounts * self.max_members[order], starts)
            free = _round_rows(free, amounts * (most > free)[row_of], row_of)
            # Rounding by the solver is harmless for small whole numbers.
            step = np.maximum(np.gcd.reduceat(amounts, starts), 1)
            scale = np.maximum(1.0, free // step / _MAX_AMOUNT)
            limits = free // step / scale
            used = amounts // step[row_of] / scale[row_of]
            is_term = (most > free)[row_of] & (used > milp.MIN_COEFFICIENT)
            rows = row_of[is_term]
            first = arrays.starts(rows)
            self.solver.add_limits(
                limits[rows[first]],
                first,
                order[is_term] + self._first,
                used[is_term],
            )

    def _add_member_rows(self) -> None:
        optional: dict[Path, list[int]] = {}
        for number, eq_class in enumerate(self.eq_classes):
            own = self.of_class(number)
            if eq_class.optional:
                optional.setdefault(eq_class.optional, []).extend(own)
                row = self.total(own) <= len(eq_class.members)
            else:
                row = self.total(own).equals(len(eq_class.members))
            self.solver.add_row(row)
        for member_set in self.problem.topology.member_sets:
            if member_set.path in optional:
                required = assumptions.count_required(self.problem, member_set)
                own = np.array(optional[member_set.path], np.int64)
                self.solver.add_row(self.total(own) >= required)


def _round_rows(free: Ints, amounts: Ints, row_of: Ints) -> Ints:
    """Round the free amounts of rows down to sums of their terms.

    :param free: by row
    :param amounts: of all terms; 0 does not count
    :param row_of: number of the row of each
    """
    kinds, kind_of = np.unique(amounts, return_inverse=True)
    has_kind = np.zeros((len(free), len(kinds)), bool)
    has_kind[row_of, kind_of] = True
    patterns, pattern_of = np.unique(has_kind, axis=0, return_inverse=True)
    rounded = free.copy()
    for number, pattern in enumerate(patterns):
        present = set(kinds[pattern].tolist()) - {0}
        if present:
            same = pattern_of == number
            rounded[same] = arrays.round_to_sums(free[same], present)
    return rounded

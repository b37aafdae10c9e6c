# SPDX-License-Identifier: Apache-2.0
"""Capacity rows of the master problem, which limit demand on each domain."""

import collections

import numpy as np

from nova_groupext.solver.exact import expressions
from nova_groupext.solver.repair import bottlenecks


class CapacityRows:
    """Rows that limit the demand of colocation groups on their domains.

    Bottleneck classes have columns of their own: their members in each domain.
    """

    def __init__(self, colocated_groups, solver, greedy):
        """Keep the model; add no rows yet.

        :param colocated_groups: colocation_groups.ColocationGroups
        :param solver: milp.MixedIntegerProgram
        :param greedy: squeaky_wheel.SqueakyWheel
        """
        self._colocated_groups = colocated_groups
        self._solver = solver
        self._state = greedy.state
        self._matrices = greedy.state.matrices
        self._min_demand = greedy.min_demand
        self._member_capacities = {}

    def add(self, scope, prescribed):
        """Add the rows for the domains of a scope.

        :param prescribed: (propagator, number of a domain) -> column, 1 if the
            domain is the propagator's
        """
        strict = [
            propagator
            for propagator in self._colocated_groups.domains
            if propagator.policy.scope == scope
        ]
        strict.sort(key=lambda propagator: len(propagator.eq_classes))
        # Members of several groups count once.
        propagator_of = {
            eq_class: propagator
            for propagator in strict[::-1]
            for eq_class in propagator.eq_classes
        }
        demand_by_domain = collections.defaultdict(dict)
        for eq_class, propagator in propagator_of.items():
            for domain in self._colocated_groups.domains[propagator]:
                column = prescribed[propagator, domain]
                demand_by_domain[domain][eq_class] = (
                    column,
                    self._min_demand[eq_class],
                )
        for (eq_class, domain), column in self._add_bottleneck_columns(
            strict[0]
        ).items():
            if domain in demand_by_domain:
                demand_by_domain[domain][eq_class] = column, 1
        for domain, demand in demand_by_domain.items():
            hosts = strict[0].domains[domain]
            self._limit_amounts(hosts, demand)
            self._limit_members(hosts, demand)

    def _add_bottleneck_columns(self, propagator):
        """Add columns for bottleneck classes: (class, domain) -> column."""
        member_counts = collections.Counter()
        eq_class_of = {}
        for eq_class in self._colocated_groups.bottleneck_classes:
            number = self._matrices.class_of[eq_class]
            member_counts[eq_class_of.setdefault(number, eq_class)] += (
                self._min_demand[eq_class]
            )
        columns = {}
        for eq_class, count in member_counts.items():
            capacity = self._state.capacity(eq_class, slice(None))
            max_counts = propagator.level.sum(capacity)
            new_columns = {
                (eq_class, domain): self._solver.add_column(
                    int(max_counts[domain])
                )
                for domain in np.flatnonzero(max_counts).tolist()
            }
            outside = count - int(capacity[propagator.domain_of < 0].sum())
            if outside > 0 and new_columns:
                self._add_row(
                    expressions.total(list(new_columns.values())) >= outside
                )
            columns.update(new_columns)
        return columns

    def _limit_amounts(self, hosts, demand):
        """Limit the demand for each resource to the free amount."""
        # Floats and Python integers do not overflow.
        free = self._matrices.free[hosts].sum(axis=0, dtype=float)
        needs = {
            eq_class: self._matrices.need_of(eq_class).tolist()
            for eq_class in demand
        }
        for number, available in enumerate(free):
            terms = [
                (column, needs[eq_class][number] * count)
                for eq_class, (column, count) in demand.items()
            ]
            self._limit(terms, available)

    def _limit_members(self, hosts, demand):
        """Limit members at least as large as a class to its capacity."""
        matrices = self._matrices
        for number in {matrices.class_of[eq_class] for eq_class in demand}:
            sizes, capacity = self._member_capacity(number)
            terms = [
                (column, count * sizes[matrices.class_of[eq_class]])
                for eq_class, (column, count) in demand.items()
            ]
            self._limit(terms, capacity[hosts].sum())

    def _member_capacity(self, number):
        """Return the capacity for members of a class.

        :returns: (number of another class -> relative size of its members at
            least, capacity by host in members)
        """
        matrices = self._matrices
        if number not in self._member_capacities:
            eq_class_of = {
                matrices.class_of[eq_class]: eq_class
                for eq_class in self._min_demand
            }
            reference = eq_class_of[number]
            sizes = {
                other: bottlenecks.relative_size(matrices, eq_class, reference)
                for other, eq_class in eq_class_of.items()
            }
            capacity = matrices.count_fits(
                matrices.need_of(reference)
            ) * matrices.allowed_mask(reference)
            self._member_capacities[number] = sizes, capacity
        return self._member_capacities[number]

    def _limit(self, terms, limit):
        """Add a row that limits the demand on a domain.

        :param terms: (column, coefficient) pairs
        """
        amounts = collections.defaultdict(int)
        columns = {column.index: column for column, _ in terms}
        for column, amount in terms:
            amounts[column.index] += int(amount)
        largest = max(amounts.values(), default=0)
        if largest:
            scaled = [
                columns[index] * (amount / largest)
                for index, amount in amounts.items()
                if amount
            ]
            self._add_row(expressions.total(scaled) <= float(limit / largest))

    def _add_row(self, comparison):
        self._solver.add_row(comparison)

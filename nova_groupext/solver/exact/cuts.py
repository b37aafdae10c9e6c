# SPDX-License-Identifier: Apache-2.0
"""No-good cuts: what the integer program learns of policies without rows.

A plan that violates such a policy yields a cut: the numbers of members that
determine the violation have to change, or else it counts. Each cut excludes
one combination of these numbers, so the program ends with the right result,
but after more solutions than with rows.
"""

from collections.abc import Sequence

from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.exact import cost_levels
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact import policy_rows
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies.tools import Expression

# Difference of a violation from its column beyond rounding.
_TOLERANCE = 1e-6


class Cuts:
    """Cuts for the policies of a program that have no rows.

    :ivar strict: the strict ones of these policies
    """

    def __init__(self, model: member_counts.Model) -> None:
        self._model = model
        self.strict = [
            policy
            for policy in model.problem.topology.policies
            if policy.strict and not policy_rows.has_rows(policy)
        ]
        # Columns of violations, by soft policy.
        self._columns: dict[base.Policy, expressions.Column] = {}
        self._terms: dict[base.Policy, list[member_counts.Count]] = {}
        # Columns that are 1 only if the count is lower than the number.
        self._lower: dict[
            tuple[member_counts.Count, int], expressions.Column
        ] = {}

    def add_soft(self, policy: base.Policy) -> expressions.Column:
        """Add a soft policy.

        :returns: column of its violation, valid when cuts() adds nothing more
        """
        return self._columns.setdefault(policy, self._model.add_column())

    def add_violated(
        self, plan: violations.Plan, counts: Ints
    ) -> list[base.Policy]:
        """Add a cut for every strict policy that a plan violates.

        :returns: the violated policies
        """
        violated = [
            policy
            for policy in self.strict
            if violations.is_violated(
                self._model.problem, policy, plan.placement
            )
        ]
        for policy in violated:
            self._model.add_row(self._changes(policy, counts) >= 1)
        return violated

    def add_costs(
        self, plan: violations.Plan, counts: Ints, values: Sequence[float]
    ) -> bool:
        """Add a cut for every soft policy that costs more than its column.

        :param values: value of every column in the solution
        :returns: whether there was any
        """
        is_any = False
        for policy, column in self._columns.items():
            amount = violations.amount(
                self._model.problem, policy, plan.placement
            )
            limit = policy.max_violation(
                policy.size, cost_levels.MAX_TOPOLOGY_LEVELS
            )
            if amount > limit:
                raise RuntimeError(
                    f'a violation of {policy.type} is {amount}, more than its '
                    f'maximum {limit}'
                )
            if amount > values[column.index] + _TOLERANCE:
                is_any = True
                changes = self._changes(policy, counts)
                self._model.add_row(column >= amount - changes * amount)
        return is_any

    def _changes(self, policy: base.Policy, counts: Ints) -> Expression:
        """Return an expression that is 0 where nothing relevant changes."""
        terms = self._find_terms(policy)
        present = {term: term.value(counts) for term in terms}
        # One column at least: HiGHS ignores rows without any.
        columns: list[expressions.Column] = [self._model.add_column(0)]
        columns += (
            self._is_lower(term, number)
            for term, number in present.items()
            if number > term.lower
        )
        total = sum(present.values())
        # Otherwise more in one term means fewer in another.
        if not policy.is_monotone and total < self._max_total(policy):
            is_more = self._model.add_binary()
            placed = expressions.total([term.expression for term in terms])
            self._model.add_row(placed >= is_more * (total + 1))
            columns.append(is_more)
        return expressions.total(columns)

    def _is_lower(
        self, term: member_counts.Count, number: int
    ) -> expressions.Column:
        if (term, number) not in self._lower:
            column = self._model.add_binary()
            slack = term.upper - number + 1
            self._model.add_row(
                term.expression <= number - 1 + slack * (1 - column)
            )
            self._lower[term, number] = column
        return self._lower[term, number]

    def _find_terms(self, policy: base.Policy) -> list[member_counts.Count]:
        """Return the counts that determine the violation of a policy."""
        if policy not in self._terms:
            rows = policy_rows.Rows(self._model, policy)
            is_of_union = policy.is_symmetric and not policy.is_pairwise
            if policy.sees == base.COUNTS and is_of_union:
                terms = [*rows.counts().values()]
                if policy.is_exclusive:
                    terms += rows.other_counts().values()
            else:
                terms = [*rows.counts_by_host()]
            self._terms[policy] = terms
        return self._terms[policy]

    def _max_total(self, policy: base.Policy) -> int:
        if policy.is_exclusive:
            return len(self._model.problem.class_of)
        return policy.size

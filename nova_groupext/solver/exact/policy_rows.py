# SPDX-License-Identifier: Apache-2.0
"""Rows of policies in the integer program, and the tools to add them."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import itertools

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies.tools import Expression


def add_strict(model: member_counts.Model, policy: base.Policy) -> None:
    """Add the rows of a strict policy, if its type has any."""
    rows = Rows(model, policy)
    for excess in _excesses(rows, policy):
        rows.add_row(excess <= 0)


def add_soft(model: member_counts.Model, policy: base.Policy) -> Expression:
    """Add the rows of a soft policy.

    :returns: expression of its violation, valid where it is minimised
    """
    rows = Rows(model, policy)
    if policy.cost is not None:
        return policy.cost(rows)
    if policy.excesses is None:
        # None of them is negative.
        return expressions.total(_excesses(rows, policy))
    violations = []
    for excess in policy.excesses(rows):
        violation = rows.add_column()
        rows.add_row(excess <= violation)
        violations.append(violation)
    return expressions.total(violations)


def has_rows(policy: base.Policy) -> bool:
    """Check whether rows express a policy; else the program learns cuts."""
    if not policy.strict and policy.cost is not None:
        return True
    return policy.excesses is not None or policy.domain_violation is not None


def _excesses(rows: 'Rows', policy: base.Policy) -> Iterator[Expression]:
    """Return expressions that a strict policy keeps at 0 or below."""
    if policy.excesses is not None:
        return policy.excesses(rows)
    if policy.domain_violation is not None:
        return _domain_violations(rows, policy.domain_violation)
    return iter(())


def _domain_violations(
    rows: 'Rows', domain_violation: Callable[[int], int]
) -> Iterator[Expression]:
    """Yield the violation of each domain, exact for any number of members."""
    for count in rows.counts().values():
        amounts = [
            domain_violation(number) if number else 0
            for number in range(count.lower, count.upper + 1)
        ]
        if any(amounts):
            steps = [b - a for a, b in itertools.pairwise(amounts)]
            columns = rows.unary_expansion(count)
            terms = zip(columns, steps, strict=True)
            yield rows.sum(
                [column * step for column, step in terms if step], amounts[0]
            )


class Rows:
    """Tools with which a policy adds its rows, see policies.tools.

    :ivar levels: topology levels, smallest first
    """

    def __init__(
        self, model: member_counts.Model, policy: base.Policy
    ) -> None:
        self._model = model
        self._policy = policy
        self._side = model.side(policy.paths)
        self.levels = model.problem.levels
        self.domain = model.problem.domain
        self.add_row = model.add_row
        self.add_column = model.add_column
        self.add_binary = model.add_binary
        self.indicator = model.indicator
        self.unary_expansion = model.unary_expansion
        self.count = model.count
        self.sum = expressions.total

    def counts(self) -> dict[Domain | None, member_counts.Count]:
        """Return the counts by domain of the covered members."""
        return self._model.counts(self._side, self._policy.scope)

    def other_counts(self) -> dict[Domain | None, member_counts.Count]:
        """Return the counts by domain of the members that are not covered."""
        others = self._model.complement(self._side)
        return self._model.counts(others, self._policy.scope)

    def counts_by_host(self) -> Iterator[member_counts.Count]:
        """Yield the count of every equivalence class on every host.

        Of an exclusive policy all classes count, else the covered ones.
        """
        side = self._side
        if self._policy.is_exclusive:
            side = self._model.side(frozenset(self._model.problem.class_of))
        for number in side.eq_classes:
            eq_class = self._model.variables.eq_classes[number]
            members = self._model.side(frozenset(eq_class.members))
            for host in members.hosts:
                yield self._model.count(members, (host,))

    def foreign_domains(self) -> set[Domain | None]:
        """Return the domains with foreign consumers."""
        return {
            self.domain(host, self._policy.scope)
            for host in self._model.problem.foreign_hosts
        }

    def sides(self) -> list[member_counts.Side]:
        """Return the sides of the policy."""
        return [self._model.side(frozenset(s)) for s in self._policy.sides]

    def union(self, sides: Iterable[member_counts.Side]) -> member_counts.Side:
        """Return the side of all members of some sides."""
        paths = frozenset[Path]().union(*(side.paths for side in sides))
        return self._model.side(paths)

    def size(
        self, side: member_counts.Side | None = None
    ) -> member_counts.Count:
        """Return the count of the placed members of a side, or of all."""
        return self._model.size(side or self._side)

    def minimum(self, count: member_counts.Count, limit: int) -> Expression:
        """Return an expression of the minimum of a count and a limit."""
        if count.lower >= limit:
            return self.sum([], limit)
        columns = self.unary_expansion(count)[: limit - count.lower]
        return self.sum(columns, count.lower)

# SPDX-License-Identifier: Apache-2.0
"""Rows of policies in the integer program, and the tools to add them."""

import itertools

from highspy import highs


def add_strict(model, policy):
    """Add the rows of a strict policy, if its type has any."""
    rows = Rows(model, policy)
    if policy.excesses is not None:
        for excess in policy.excesses(rows):
            rows.add_row(excess <= 0)
    elif policy.domain_violation is not None:
        for violation in _domain_violations(rows, policy):
            rows.add_row(violation <= 0)


def add_soft(model, policy):
    """Add the rows of a soft policy.

    :returns: expression of its violation, valid where it is minimised
    """
    rows = Rows(model, policy)
    if policy.cost is not None:
        return policy.cost(rows)
    if policy.excesses is None:
        return highs.qsum(_domain_violations(rows, policy))
    violations = []
    for excess in policy.excesses(rows):
        violation = rows.add_column()
        rows.add_row(excess <= violation)
        violations.append(violation)
    return highs.qsum(violations)


def has_rows(policy):
    """Check whether rows express a policy; else the program learns cuts."""
    if not policy.strict and policy.cost is not None:
        return True
    return policy.excesses is not None or policy.domain_violation is not None


def _domain_violations(rows, policy):
    """Yield the violation of each domain, exact for any number of members."""
    for count in rows.counts().values():
        amounts = [
            policy.domain_violation(number) if number else 0
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
    """Tools with which a policy adds its rows.

    Counts are member_counts.Count: ``expression``, ``lower`` and ``upper``
    bound of a number of members. A side has the ids of its ``hosts``.

    :ivar levels: topology levels, smallest first
    """

    def __init__(self, model, policy):
        self._model = model
        self._policy = policy
        self._side = model.side(frozenset().union(*policy.sides))
        self.levels = model.problem.levels
        self.domain = model.problem.domain
        self.add_row = model.add_row
        self.add_column = model.add_column
        self.add_binary = model.add_binary
        self.indicator = model.indicator
        self.unary_expansion = model.unary_expansion
        self.count = model.count
        self.sum = highs.qsum

    def counts(self):
        """Return {domain: Count} of the covered members."""
        return self._model.counts(self._side, self._policy.scope)

    def other_counts(self):
        """Return {domain: Count} of the members that are not covered."""
        others = self._model.complement(self._side)
        return self._model.counts(others, self._policy.scope)

    def counts_by_host(self):
        """Yield the Count of every equivalence class on every host.

        Of an exclusive policy all classes count, else the covered ones.
        """
        side = self._side
        if self._policy.is_exclusive:
            side = self._model.side(frozenset(self._model.problem.class_of))
        for eq_class in side.eq_classes:
            members = self._model.side(frozenset(eq_class.members))
            for host in members.hosts:
                yield self._model.count(members, (host,))

    def foreign_domains(self):
        """Return the domains with foreign consumers."""
        return {
            self.domain(host.id, self._policy.scope)
            for host in self._model.problem.hosts.values()
            if host.foreign
        }

    def sides(self):
        """Return the sides of the policy."""
        return [self._model.side(frozenset(s)) for s in self._policy.sides]

    def union(self, sides):
        """Return the side of all members of some sides."""
        paths = frozenset().union(*(side.paths for side in sides))
        return self._model.side(paths)

    def size(self, side=None):
        """Return the Count of the placed members of a side, or of all."""
        return self._model.size(side or self._side)

    def minimum(self, count, limit):
        """Return an expression of the minimum of a count and a limit."""
        if count.lower >= limit:
            return self.sum([], limit)
        columns = self.unary_expansion(count)[: limit - count.lower]
        return self.sum(columns, count.lower)

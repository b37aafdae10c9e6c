# SPDX-License-Identifier: Apache-2.0
"""Anti-affinity: a limit on the members of each domain."""

from collections.abc import Iterator

from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools


class AntiAffinity(base.Policy):
    """At most ``max_per_domain`` members in each domain.

    The first excess member of a domain costs 1, the next one 2 more, and so
    on: 2 and 2 are better than 3 and 1.
    """

    type = 'anti-affinity'
    noun = 'anti-affinity'
    is_monotone = True
    is_symmetric = True
    is_worst_in_union = True
    sees = base.COUNTS

    max_per_domain: int = base.parameter(base.COUNT, default=1)

    def domain_violation(self, number: int) -> int:
        excess = max(0, number - self.max_per_domain)
        return excess * (excess + 1) // 2

    @property
    def domain_limit(self) -> int:
        return self.max_per_domain

    def max_violation(self, members: int, levels: int) -> int:
        return members * (members + 1) // 2

    def max_step(self, members: int) -> int:
        return members

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        for count in self._counts_above_limit(rows):
            yield count.expression - self.max_per_domain

    def cost(self, rows: tools.Rows) -> tools.Expression:
        return rows.sum(
            self._steps(rows, count)
            for count in self._counts_above_limit(rows)
        )

    def _counts_above_limit(self, rows: tools.Rows) -> list[tools.Count]:
        counts = rows.counts().values()
        return [c for c in counts if c.upper > self.max_per_domain]

    def _steps(self, rows: tools.Rows, count: tools.Count) -> tools.Expression:
        """Return the violation of a domain, a sum of steps.

        Each step costs more than the last, so minimisation keeps their order.
        """
        max_excess = count.upper - self.max_per_domain
        steps = [rows.add_column(1) for _ in range(max_excess)]
        rows.add_row(count.expression - self.max_per_domain <= rows.sum(steps))
        return rows.sum([step * n for n, step in enumerate(steps, 1)])

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.count_limit(lambda final_count: self.max_per_domain)

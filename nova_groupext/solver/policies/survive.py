# SPDX-License-Identifier: Apache-2.0
"""Survival: enough members after the worst failures of domains."""

from collections.abc import Iterator
import dataclasses
from typing import Self

from nova_groupext.solver.aliases import Sides
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools
from nova_groupext.solver.policies.view import View


class Survive(base.Policy):
    """At least ``min_members`` members after ``failures`` lost domains.

    Each member that is missing in the worst case costs 1.
    """

    type = 'survive'
    noun = 'survival'
    is_symmetric = True
    sees = base.COUNTS
    is_bound_by_required = False

    failures: int = base.parameter(base.COUNT_OR_NONE, default=1)
    min_members: int = base.parameter(base.COUNT)

    def violation(self, view: View) -> int:
        used = view.counts
        lost = sum(n for _, n in used.most_common(self.failures))
        return max(0, self.min_members - (used.total() - lost))

    def max_violation(self, members: int, levels: int) -> int:
        return self.min_members

    def reduced(self, sides: Sides, removed_count: int) -> Self:
        # Members placed later survive too, else the final check fails.
        min_members = max(1, self.min_members - removed_count)
        return dataclasses.replace(self, sides=sides, min_members=min_members)

    def bound(self, limits: base.Limits, required: int, members: int) -> bool:
        falling: list[int] = sorted(limits.tolist(), reverse=True)
        if sum(falling[self.failures :]) < self.min_members:
            return False
        used = sum(limit > 0 for limit in falling)
        # The fullest domains have at least the average number of members.
        lost = -(-members * self.failures // max(1, used))
        return members - lost >= self.min_members

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        # The sum of the k largest numbers is the minimum over t of
        # k * t + the sum of the excesses of all numbers over t.
        threshold = rows.add_column()
        lost = threshold * self.failures
        for count in rows.counts().values():
            excess = rows.add_column()
            rows.add_row(count.expression - threshold <= excess)
            lost += excess
        yield self.min_members - rows.size().expression + lost

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.count_limit(self._limit)

    def _limit(self, final_count: int) -> int:
        """Return a sufficient limit on the members of a domain."""
        expendable = final_count - self.min_members
        return max(1, expendable // max(1, self.failures))

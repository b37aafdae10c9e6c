# SPDX-License-Identifier: Apache-2.0
"""Spread: balanced numbers of members in several domains."""

from collections.abc import Iterator

from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools
from nova_groupext.solver.policies.view import View


class Spread(base.Policy):
    """Enough domains, whose counts differ by at most ``max_skew``.

    Each missing domain costs 1, and each unit of excess skew, too.
    """

    type = 'spread'
    noun = 'spread'
    is_symmetric = True
    sees = base.COUNTS

    max_skew: int = base.parameter(base.COUNT_OR_NONE, default=1)
    min_domains: int = base.parameter(base.COUNT, default=2)

    def violation(self, view: View) -> int:
        used = view.counts
        if not used:
            return 0
        missing = min(self.min_domains, used.total()) - len(used)
        skew = max(used.values()) - min(used.values())
        return max(0, missing) + max(0, skew - self.max_skew)

    def max_violation(self, members: int, levels: int) -> int:
        return 2 * members

    def bound(self, limits: base.Limits, required: int, members: int) -> bool:
        if not required:
            return True
        if not self.max_skew:
            return self._may_be_even(limits, required, members)
        # A smallest count between two of these never allows more members.
        for smallest in sorted({*limits[limits > 0].tolist()}):
            used = limits[limits >= smallest]
            total = used.clip(max=smallest + self.max_skew).sum()
            has_domains = len(used) >= min(self.min_domains, required)
            if has_domains and total >= required:
                return True
        return False

    def _may_be_even(
        self, limits: base.Limits, required: int, members: int
    ) -> bool:
        """Check whether used domains may have equal numbers of members."""
        for number in range(1, min(members, int(limits.max(initial=0))) + 1):
            max_domains = min(int((limits >= number).sum()), members // number)
            for domains in range(-(-required // number), max_domains + 1):
                if domains >= min(self.min_domains, domains * number):
                    return True
        return False

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        counts = rows.counts().values()
        used = rows.sum(map(rows.indicator, counts))
        yield rows.minimum(rows.size(), self.min_domains) - used
        upper = max((count.upper for count in counts), default=0)
        if upper > self.max_skew + 1:
            largest = rows.add_column()
            smallest = rows.add_column(upper)
            for count in counts:
                rows.add_row(largest >= count.expression)
                unused = 1 - rows.indicator(count)
                rows.add_row(smallest <= count.expression + upper * unused)
            yield largest - smallest - self.max_skew

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.balanced_counts(self.min_domains, self.max_skew)

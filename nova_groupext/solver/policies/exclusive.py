# SPDX-License-Identifier: Apache-2.0
"""Exclusivity: domains for the covered members alone."""

from collections.abc import Iterator

from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools
from nova_groupext.solver.policies.view import View


class Exclusive(base.Policy):
    """No foreign consumer and no other member in the domains in use.

    Each shared domain costs 1.
    """

    type = 'exclusive'
    noun = 'exclusivity'
    is_monotone = True
    is_symmetric = True
    is_exclusive = True
    is_worst_in_union = True
    sees = base.COUNTS

    def violation(self, view: View) -> int:
        return len(view.other_domains.intersection(view.counts))

    def max_violation(self, members: int, levels: int) -> int:
        return members

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        foreign_domains = rows.foreign_domains()
        other_counts = rows.other_counts()
        for domain, count in rows.counts().items():
            if domain in foreign_domains:
                yield rows.indicator(count)
            elif domain in other_counts:
                yield (
                    rows.indicator(count)
                    + rows.indicator(other_counts[domain])
                    - 1
                )

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.exclusive_domains()

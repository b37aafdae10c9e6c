# SPDX-License-Identifier: Apache-2.0
"""Exclusivity: domains for the covered members alone."""

from nova_groupext.solver.policies import base


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

    def violation(self, view):
        return len(view.other_domains.intersection(view.counts))

    def max_violation(self, members, levels):
        return members

    def excesses(self, rows):
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

    def propagator(self, kinds):
        return kinds.exclusive_domains()

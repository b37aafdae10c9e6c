# SPDX-License-Identifier: Apache-2.0
"""Affinity: all members share one domain."""

from collections.abc import Iterator

from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools
from nova_groupext.solver.policies.view import View


class Affinity(base.Policy):
    """All members in one domain; each further domain costs 1."""

    type = 'affinity'
    noun = 'affinity'
    is_monotone = True
    is_symmetric = True
    binds_one_domain = True
    is_worst_in_union = True
    sees = base.COUNTS

    def violation(self, view: View) -> int:
        return max(0, len(view.counts) - 1)

    def max_violation(self, members: int, levels: int) -> int:
        return members

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        counts = rows.counts()
        if len(counts) > 1:
            yield rows.sum(map(rows.indicator, counts.values()), -1)

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.one_domain()

# SPDX-License-Identifier: Apache-2.0
"""Propagator that spreads members over domains in balanced numbers."""

from collections.abc import Iterable
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.construct import capacity_matrices
from nova_groupext.solver.construct import propagators
from nova_groupext.solver.policies import base


class _Choice(NamedTuple):
    """Choice of domains to use; the least one is preferred.

    :ivar shortage: minus the number of members that could be added
    :ivar used: number of domains
    :ivar min_count: minimum of members in each of them
    :ivar max_count: maximum of members in each of them
    """

    shortage: int
    used: int
    min_count: int
    max_count: int


class BalancedCounts(propagators.Propagator):
    """Balanced numbers of members in a number of domains.

    :ivar is_open: true until the domains are fixed
    :ivar chosen: by domain: whether it is used; None if no choice is known
        to be feasible
    :ivar min_count: minimum of members in each of them
    :ivar max_count: maximum of members in each of them
    """

    chosen: Bools | None = None
    min_count = max_count = 0

    def __init__(
        self,
        matrices: capacity_matrices.CapacityMatrices,
        policy: base.Policy,
        min_domains: int,
        max_skew: int,
    ) -> None:
        super().__init__(matrices, policy)
        self._min_domains = min_domains
        self._max_skew = max_skew
        self.is_open = True

    @property
    def needed_domains(self) -> float | None:
        return min(self.final_count, 2 * self._min_domains)

    def unfix_domain(self) -> None:
        """Reopen the choice of the domains."""
        self.is_open = True

    def choose_domains(self, capacity: Ints, number: int) -> None:
        """Fix the domains to use; none if too few have capacity.

        :param capacity: estimated number of members that each domain takes
        :param number: selects one of the feasible choices
        """
        self.is_open = False
        counts = self.counts[:-1]
        capacity = np.minimum(capacity + counts, self.final_count)
        capacity[counts > 0] = np.maximum(capacity, 1)[counts > 0]
        order = np.lexsort((-capacity, counts == 0))
        min_domains = max(
            int(np.count_nonzero(counts)),
            min(self._min_domains, self.final_count),
            1,
        )
        available = int(np.count_nonzero(capacity))
        choices = sorted(
            self._find_choices(
                capacity[order], range(min_domains, available + 1)
            )
        )
        self.chosen = None
        if choices:
            choice = choices[number % len(choices)]
            self.min_count = choice.min_count
            self.max_count = choice.max_count
            self.chosen = np.zeros(len(self.counts), bool)
            self.chosen[order[: choice.used]] = True
        elif available < min_domains:
            self.chosen = np.zeros(len(self.counts), bool)

    def _find_choices(
        self, capacity: Ints, numbers: Iterable[int]
    ) -> Iterator[_Choice]:
        """Yield the feasible choices of the first domains.

        :param numbers: numbers of domains
        """
        for used in numbers:
            inside = capacity[:used]
            min_count = min(self.final_count // used, int(inside.min()))
            max_count = min_count + self._max_skew
            surplus = int(np.minimum(inside, max_count).sum()) - (
                self.final_count
            )
            if min_count and surplus >= 0:
                yield _Choice(-surplus, used, min_count, max_count)

    def filter_hosts(self, hosts: Ints) -> Ints:
        if self.is_open:
            return hosts
        domains = self.domain_of[hosts]
        counts = self.counts[domains]
        if self.chosen is None:
            # No choice is known to be feasible: keep the counts balanced.
            return propagators.with_least(hosts, counts, self.final_count)
        missing = np.maximum(0, self.min_count - self.counts)[
            self.chosen
        ].sum()
        max_count = self.max_count
        if self.final_count - self.counts.sum() <= missing:
            max_count = self.min_count
        return hosts[self.chosen[domains] & (counts < max_count)]

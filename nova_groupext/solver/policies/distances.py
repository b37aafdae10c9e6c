# SPDX-License-Identifier: Apache-2.0
"""Sums of pair distances without a loop over the pairs.

A pair's distance is the number of levels i for which the two hosts share
neither the scope's domain nor one of any level up to i. The pairs that share
a domain of *some* level in a set follow, by inclusion and exclusion, from the
pairs that share a domain of *every* level in its subsets. So the sum of
distances is (levels x pairs) plus weighted numbers, some of them negative, of
pairs that agree at some levels.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import functools
import itertools

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level


def weigh_groups(
    domain: Callable[[HostId, Level], Domain | None],
    hosts: Sequence[HostId],
    levels: tuple[Level, ...],
    scope: Level,
) -> collections.Counter[tuple[HostId, ...]]:
    """Return the weight of a pair within each group of hosts.

    In addition, each pair costs the number of levels. A group shares its
    domain at all of some levels; a host without a domain at one of them is in
    no such group. Where racks nest in zones, nearly all weights cancel.

    :param levels: all levels, smallest first
    :param scope: one of them
    """
    domains = [[domain(host, level) for host in hosts] for level in levels]
    total = collections.Counter[tuple[HostId, ...]]()
    for agreeing, weight in _weights(len(levels), levels.index(scope)):
        groups: dict[tuple[Domain | None, ...], list[HostId]] = {}
        keys = zip(*(domains[index] for index in agreeing), strict=True)
        for host, key in zip(hosts, keys, strict=True):
            if None not in key:
                groups.setdefault(key, []).append(host)
        for group in groups.values():
            total[tuple(group)] += weight
    return total


@functools.lru_cache
def _weights(
    level_count: int, scope_index: int
) -> list[tuple[tuple[int, ...], int]]:
    """Return the weight of a pair that agrees at each set of levels."""
    return [
        (agreeing, _weight(agreeing, scope_index, level_count))
        for agreeing in _subsets(range(level_count))
    ]


def _weight(
    agreeing: tuple[int, ...], scope_index: int, level_count: int
) -> int:
    """Return minus the signed number of sets {0..i} + {scope} with these."""
    largest = max(
        (index for index in agreeing if index != scope_index), default=0
    )
    sign = 1 if len(agreeing) % 2 else -1
    return -sign * (level_count - largest)


def _subsets(items: Collection[int]) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(
        itertools.combinations(items, size)
        for size in range(1, len(items) + 1)
    )

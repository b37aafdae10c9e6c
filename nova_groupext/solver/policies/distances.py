# SPDX-License-Identifier: Apache-2.0
"""Sums of pair distances without a loop over the pairs.

A pair's distance is the number of levels i for which the two hosts share
neither the scope's domain nor one of any level up to i. The pairs that share
a domain of *some* level in a set follow, by inclusion and exclusion, from the
pairs that share a domain of *every* level in its subsets. So the sum of
distances is (levels x pairs) plus weighted numbers, some of them negative, of
pairs that agree at some levels.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import itertools
from typing import NamedTuple

from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level


class Weight(NamedTuple):
    """Weight of a pair of members that agrees at all of some levels."""

    levels: tuple[Level, ...]
    weight: int


def weights(levels: tuple[Level, ...], scope: Level) -> list[Weight]:
    """Return the weight of a pair that agrees at each set of levels.

    In addition, each pair costs the number of levels.

    :param levels: all levels, smallest first
    :param scope: one of them
    """
    scope_index = levels.index(scope)
    return [
        Weight(
            tuple(levels[i] for i in agreeing),
            _weight(agreeing, scope_index, len(levels)),
        )
        for agreeing in _subsets(range(len(levels)))
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


def group_hosts(
    domain: Callable[[HostId, Level], Domain | None],
    hosts: Iterable[HostId],
    levels: tuple[Level, ...],
) -> Collection[list[HostId]]:
    """Group the hosts that share their domain at all of some levels.

    Hosts without a domain at one of the levels are in no group.
    """
    groups: dict[tuple[Domain | None, ...], list[HostId]] = {}
    for host in hosts:
        key = tuple(domain(host, level) for level in levels)
        if None not in key:
            groups.setdefault(key, []).append(host)
    return groups.values()

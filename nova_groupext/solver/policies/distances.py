# SPDX-License-Identifier: Apache-2.0
"""Sums of pair distances without a loop over the pairs.

A pair's distance is the number of levels i for which the two hosts share
neither the scope's domain nor one of any level up to i. The pairs that share
a domain of *some* level in a set follow, by inclusion and exclusion, from the
pairs that share a domain of *every* level in its subsets. So the sum of
distances is (levels x pairs) plus weighted numbers, some of them negative, of
pairs that agree at some levels.
"""

import itertools


def weights(levels, scope):
    """Return the weight of a pair that agrees at each set of levels.

    :param levels: names of the levels, smallest first
    :param scope: one of them
    :returns: [(names of levels, weight)]; in addition, each pair costs the
        number of levels
    """
    scope_index = levels.index(scope)
    return [
        (
            tuple(levels[i] for i in agreeing),
            _weight(agreeing, scope_index, levels),
        )
        for agreeing in _subsets(range(len(levels)))
    ]


def _weight(agreeing, scope_index, levels):
    """Return minus the signed number of sets {0..i} + {scope} with these."""
    largest = max(
        (index for index in agreeing if index != scope_index), default=0
    )
    sign = 1 if len(agreeing) % 2 else -1
    return -sign * (len(levels) - largest)


def _subsets(items):
    return itertools.chain.from_iterable(
        itertools.combinations(items, size)
        for size in range(1, len(items) + 1)
    )


def group_hosts(problem, hosts, levels):
    """Group the hosts that share their domain at all of some levels.

    :returns: lists; hosts without a domain at one of the levels are in none
    """
    groups = {}
    for host in hosts:
        key = tuple(problem.domain(host, level) for level in levels)
        if None not in key:
            groups.setdefault(key, []).append(host)
    return groups.values()

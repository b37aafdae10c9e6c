# SPDX-License-Identifier: Apache-2.0
"""How far apart pairs are, without a look at each pair.

A pair's distance is the number of levels i for which the two hosts share
neither the scope's domain nor one of any level up to i. How many pairs share
a domain of *some* level in a set follows, by inclusion and exclusion, from how
many share a domain of *every* level in its subsets. So the sum of distances
is (levels x pairs) minus weighted numbers of pairs that agree in some levels.
"""

import itertools


def weights(levels, scope):
    """What it adds to the sum of distances that a pair agrees in some levels.

    :param levels: names of the levels, smallest first
    :param scope: one of them
    :returns: [(names of levels, weight)]; besides, each pair costs as many
        as there are levels
    """
    own = levels.index(scope)
    return [
        (tuple(levels[i] for i in agreeing), _weight(agreeing, own, levels))
        for agreeing in _subsets(range(len(levels)))
    ]


def _weight(agreeing, scope, levels):
    """Minus the net number of sets {0..i} + {scope} with all these levels."""
    reach = max((level for level in agreeing if level != scope), default=0)
    sign = 1 if len(agreeing) % 2 else -1
    return -sign * (len(levels) - reach)


def _subsets(items):
    return itertools.chain.from_iterable(
        itertools.combinations(items, size)
        for size in range(1, len(items) + 1)
    )


def agree(problem, hosts, levels):
    """The hosts in groups that share their domain at all of some levels.

    :returns: lists; hosts that have no domain at one of them are in none
    """
    groups = {}
    for host in hosts:
        key = tuple(problem.domain(host, level) for level in levels)
        if None not in key:
            groups.setdefault(key, []).append(host)
    return groups.values()

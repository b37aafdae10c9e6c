# SPDX-License-Identifier: Apache-2.0
"""Soft network proximity as rows of the integer programme.

A pair's distance is the number of levels i for which the two hosts share
neither the scope's domain nor one of any level up to i. How many pairs share
a domain of *some* level in a set follows, by inclusion and exclusion, from how
many share a domain of *every* level in its subsets. So the sum of distances
is (levels x pairs) minus weighted numbers of pairs within sets of hosts that
agree in some levels. Where racks nest in zones nearly all of them cancel out.
"""

import collections
import itertools

from highspy import highs


def excesses(model, policy):
    """The sum of all pairs' distances, one expression."""
    sides = [model.side(frozenset(side)) for side in policy.sides]
    sizes = [model.size(side) for side in sides]
    total = _pairs(model, sizes, len(model.problem.levels))
    for hosts, weight in _weights(model.problem, policy.scope, sides).items():
        counts = [model.count(side, hosts) for side in sides]
        if weight and all(count.high for count in counts):
            total += _pairs(model, counts, weight)
    yield total


def _weights(problem, scope, sides):
    """Hosts that agree in some levels -> what a pair within them costs."""
    hosts = sorted({host for side in sides for host in side.hosts})
    weights = collections.Counter()
    for agreeing in _subsets(range(len(problem.levels))):
        weight = _weight(agreeing, problem.levels.index(scope), problem)
        for group in _agree(problem, hosts, agreeing):
            weights[group] += weight
    return weights


def _weight(agreeing, scope, problem):
    """Minus the net number of sets {0..i} + {scope} with all these levels."""
    reach = max((level for level in agreeing if level != scope), default=0)
    sign = 1 if len(agreeing) % 2 else -1
    return -sign * (len(problem.levels) - reach)


def _agree(problem, hosts, agreeing):
    """The hosts in groups that share their domain at all of some levels."""
    groups = collections.defaultdict(list)
    for host in hosts:
        domains = [problem.domain(host, problem.levels[i]) for i in agreeing]
        if None not in domains:
            groups[tuple(domains)].append(host)
    return [tuple(group) for group in groups.values()]


def _subsets(items):
    return itertools.chain.from_iterable(
        itertools.combinations(items, size)
        for size in range(1, len(items) + 1)
    )


def _pairs(model, counts, weight):
    """Weighted number of pairs between two counts, or within one."""
    if len(counts) == 1:
        return _pairs_within(model, counts[0]) * weight
    # The one with fewer values needs fewer digits.
    many, few = sorted(counts, key=lambda c: c.low - c.high)
    pairs = many.expr * few.low
    for digit in model.digits(few):
        # Costs are minimised: a pair that costs is bounded from below, one
        # that saves is bounded from above.
        product = model.column(many.high)
        if weight > 0:
            model.row(product >= many.expr - many.high * (1 - digit))
            model.row(product >= digit * many.low)
        else:
            model.row(product <= many.expr - many.low * (1 - digit))
            model.row(product <= digit * many.high)
        pairs += product
    return pairs * weight


def _pairs_within(model, count):
    """The k-th member makes k - 1 pairs with those before it."""
    pairs = highs.qsum([], count.low * (count.low - 1) // 2)
    for number, digit in enumerate(model.digits(count)):
        pairs += digit * (count.low + number)
    return pairs

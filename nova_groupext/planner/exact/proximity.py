# SPDX-License-Identifier: Apache-2.0
"""Soft network proximity as rows of the integer programme.

The sum of all distances is made of how many pairs agree in some levels, see
distances.weights(). Where racks nest in zones nearly all of these cancel out.
"""

import collections

from highspy import highs

from nova_groupext.planner import distances


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
    total = collections.Counter()
    for levels, weight in distances.weights(problem.levels, scope):
        for group in distances.agree(problem, hosts, levels):
            total[tuple(group)] += weight
    return total


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

# SPDX-License-Identifier: Apache-2.0
"""Soft network proximity as rows of the integer program.

The sum of distances is a weighted sum of numbers of pairs that share domains,
see distances.weights(). Where racks nest in zones, nearly all weights cancel.
"""

import collections

from highspy import highs

from nova_groupext.solver.policies import distances


def excesses(model, policy):
    """Yield one expression: the sum of the distances of all pairs."""
    sides = [model.side(frozenset(side)) for side in policy.sides]
    total = _pairs(model, sides, None, len(model.problem.levels))
    for hosts, weight in _weights(model.problem, policy.scope, sides).items():
        there = [side for side in sides if model.count(side, hosts).high]
        if weight and len(there) >= min(2, len(sides)):
            total += _pairs(model, there, hosts, weight)
    yield total


def _weights(problem, scope, sides):
    """Return {hosts that share some domains: weight of a pair on them}."""
    hosts = sorted({host for side in sides for host in side.hosts})
    total = collections.Counter()
    for levels, weight in distances.weights(problem.levels, scope):
        for group in distances.agree(problem, hosts, levels):
            total[tuple(group)] += weight
    return total


def _pairs(model, sides, hosts, weight):
    """Return the weighted number of pairs between sides, or within one.

    :param hosts: ids of the hosts that count; None for all hosts
    """
    counts = [_count(model, side, hosts) for side in sides]
    if len(sides) == 1:
        return _pairs_within(model, counts[0]) * weight
    if len(sides) == 2:
        return _pairs_between(model, counts, weight)
    # With many sides, these are far fewer terms than products of any two.
    every = model.side(frozenset().union(*(side.paths for side in sides)))
    pairs = _pairs_within(model, _count(model, every, hosts))
    for count in counts:
        pairs -= _pairs_within(model, count)
    return pairs * weight


def _count(model, side, hosts):
    return model.size(side) if hosts is None else model.count(side, hosts)


def _pairs_between(model, counts, weight):
    """Return the weighted number of pairs between two counts."""
    # The count with the smaller range needs fewer digits.
    many, few = sorted(counts, key=lambda c: c.low - c.high)
    pairs = many.expr * few.low
    for digit in model.digits(few):
        # The solver minimises the cost: lower bounds suffice for a positive
        # weight, upper bounds for a negative one.
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
    """Return the number of pairs: the k-th member adds k - 1 of them."""
    pairs = highs.qsum([], count.low * (count.low - 1) // 2)
    for number, digit in enumerate(model.digits(count)):
        pairs += digit * (count.low + number)
    return pairs

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
        present = [side for side in sides if model.count(side, hosts).upper]
        if weight and len(present) >= min(2, len(sides)):
            total += _pairs(model, present, hosts, weight)
    yield total


def _weights(problem, scope, sides):
    """Return {hosts that share some domains: weight of a pair on them}."""
    hosts = sorted({host for side in sides for host in side.hosts})
    total = collections.Counter()
    for levels, weight in distances.weights(problem.levels, scope):
        for group in distances.group_hosts(problem, hosts, levels):
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
    union = model.side(frozenset().union(*(side.paths for side in sides)))
    pairs = _pairs_within(model, _count(model, union, hosts))
    for count in counts:
        pairs -= _pairs_within(model, count)
    return pairs * weight


def _count(model, side, hosts):
    return model.size(side) if hosts is None else model.count(side, hosts)


def _pairs_between(model, counts, weight):
    """Return the weighted number of pairs between two counts."""
    # Expand the count with the smaller range: it needs fewer columns.
    other, expanded = sorted(counts, key=lambda c: c.lower - c.upper)
    pairs = other.expression * expanded.lower
    for column in model.unary_expansion(expanded):
        # The solver minimises the cost: lower bounds suffice for a positive
        # weight, upper bounds for a negative one.
        product = model.add_column(other.upper)
        if weight > 0:
            model.add_row(
                product >= other.expression - other.upper * (1 - column)
            )
            model.add_row(product >= column * other.lower)
        else:
            model.add_row(
                product <= other.expression - other.lower * (1 - column)
            )
            model.add_row(product <= column * other.upper)
        pairs += product
    return pairs * weight


def _pairs_within(model, count):
    """Return the number of pairs: the k-th member adds k - 1 of them."""
    pairs = highs.qsum([], count.lower * (count.lower - 1) // 2)
    for number, column in enumerate(model.unary_expansion(count)):
        pairs += column * (count.lower + number)
    return pairs

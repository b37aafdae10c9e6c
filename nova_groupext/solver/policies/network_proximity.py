# SPDX-License-Identifier: Apache-2.0
"""Network proximity: short distances between pairs of members."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import fractions
import functools
import itertools
import math
from typing import Self

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import distances
from nova_groupext.solver.policies import tools
from nova_groupext.solver.policies.view import View


class NetworkProximity(base.Policy):
    """Every pair shares a domain; else it costs bandwidth times distance."""

    type = 'network-proximity'
    noun = 'network proximity'
    is_monotone = True
    is_symmetric = True
    is_pairwise = True
    binds_one_domain = True
    is_worst_in_union = True
    sees = base.DOMAINS

    bandwidth: float = base.parameter(base.BANDWIDTH, default=1)

    def violation(self, view: View) -> int:
        sides = view.sides
        hosts = list(dict.fromkeys(itertools.chain(*sides)))
        total = len(view.levels) * _count_pairs(sides, hosts)
        groups = distances.weigh_groups(
            view.domain, hosts, view.levels, self.scope
        )
        return total + sum(
            weight * _count_pairs(sides, group)
            for group, weight in groups.items()
            if weight
        )

    @functools.cached_property
    def unit_cost(self) -> fractions.Fraction:
        return super().unit_cost * fractions.Fraction(str(self.bandwidth))

    def with_unit_cost(self, unit_cost: float | fractions.Fraction) -> Self:
        return dataclasses.replace(self, weight=unit_cost, bandwidth=1)

    def max_violation(self, members: int, levels: int) -> int:
        # More than all pairs, at the largest distance: the number of levels.
        return members**2 * levels

    def excesses(self, rows: tools.Rows) -> Iterator[tools.Expression]:
        """Yield the excess of domains, which counts if two sides do."""
        counts = rows.counts()
        used = rows.sum(map(rows.indicator, counts.values()), -1)
        if len(self.sides) > 1:
            parts = [rows.size(side) for side in rows.sides()]
            used_sides = rows.sum(map(rows.indicator, parts))
            # 1 if at least two sides have members.
            is_pair = rows.add_binary()
            rows.add_row(used_sides - 1 <= is_pair * (len(parts) - 1))
            used -= (1 - is_pair) * len(counts)
        yield used

    def cost(self, rows: tools.Rows) -> tools.Expression:
        """Return the sum of the distances of all pairs.

        It is a weighted sum of numbers of pairs that share domains, see
        distances.weigh_groups(). Where racks nest in zones, nearly all weights
        cancel.
        """
        sides = rows.sides()
        total = _pairs(rows, sides, None, len(rows.levels))
        all_hosts = sorted({host for side in sides for host in side.hosts})
        groups = distances.weigh_groups(
            rows.domain, all_hosts, rows.levels, self.scope
        )
        for hosts, weight in groups.items():
            present = [side for side in sides if rows.count(side, hosts).upper]
            if weight and len(present) >= min(2, len(sides)):
                total += _pairs(rows, present, hosts, weight)
        distance = rows.add_column()
        rows.add_row(total <= distance)
        return distance

    def propagator(self, kinds: tools.Kinds[tools.P]) -> tools.P:
        return kinds.short_distance()


def _count_pairs(
    sides: Sequence[collections.Counter[HostId]], hosts: Iterable[HostId]
) -> int:
    """Return the number of pairs within some hosts.

    :param sides: members by host: of several parts, with pairs across two
        parts; or of one set, with pairs inside it
    """
    sizes = [sum(side[host] for host in hosts) for side in sides]
    if len(sizes) == 1:
        return math.comb(sizes[0], 2)
    return math.comb(sum(sizes), 2) - sum(math.comb(n, 2) for n in sizes)


def _pairs(
    rows: tools.Rows,
    sides: Sequence[tools.Side],
    hosts: tuple[HostId, ...] | None,
    weight: int,
) -> tools.Expression:
    """Return the weighted number of pairs between sides, or within one.

    :param hosts: the hosts that count; None for all hosts
    """
    counts = [_count(rows, side, hosts) for side in sides]
    if len(sides) == 1:
        return _pairs_within(rows, counts[0]) * weight
    if len(sides) == 2:
        return _pairs_between(rows, counts, weight)
    # With many sides, these are far fewer terms than products of any two.
    pairs = _pairs_within(rows, _count(rows, rows.union(sides), hosts))
    for count in counts:
        pairs -= _pairs_within(rows, count)
    return pairs * weight


def _count(
    rows: tools.Rows, side: tools.Side, hosts: tuple[HostId, ...] | None
) -> tools.Count:
    return rows.size(side) if hosts is None else rows.count(side, hosts)


def _pairs_between(
    rows: tools.Rows, counts: Sequence[tools.Count], weight: int
) -> tools.Expression:
    """Return the weighted number of pairs between two counts."""
    # Expand the count with the smaller range: it needs fewer columns.
    other, expanded = sorted(counts, key=lambda c: c.lower - c.upper)
    pairs = other.expression * expanded.lower
    for column in rows.unary_expansion(expanded):
        # The solver minimises the cost: lower bounds suffice for a positive
        # weight, upper bounds for a negative one.
        product = rows.add_column(other.upper)
        if weight > 0:
            rows.add_row(
                product >= other.expression - other.upper * (1 - column)
            )
            rows.add_row(product >= column * other.lower)
        else:
            rows.add_row(
                product <= other.expression - other.lower * (1 - column)
            )
            rows.add_row(product <= column * other.upper)
        pairs += product
    return pairs * weight


def _pairs_within(rows: tools.Rows, count: tools.Count) -> tools.Expression:
    """Return the number of pairs: the k-th member adds k - 1 of them."""
    pairs = rows.sum([], count.lower * (count.lower - 1) // 2)
    for number, column in enumerate(rows.unary_expansion(count)):
        pairs += column * (count.lower + number)
    return pairs

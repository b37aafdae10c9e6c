# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the members that fit into each domain.

The bounds are optimistic: a domain that they find too small is too small.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from nova_groupext.solver import arrays
from nova_groupext.solver.aliases import Amounts
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.bounds.demands import Demand
from nova_groupext.solver.bounds.demands import PartialDemand
from nova_groupext.solver.model.host_arrays import Domains
from nova_groupext.solver.model.host_arrays import HostArrays

# Whole numbers below this are exact as floats; larger sums get a margin far
# above their rounding error.
_MAX_EXACT = 2**53
_ROUNDING_MARGIN = 1 + 1e-9

#: Sum of shares that counts as full: rounding may leave it below one.
FULL = 1 - 1e-9


def has_capacity(
    host_arrays: HostArrays,
    demands: Iterable[PartialDemand],
    domains: Domains,
) -> Bools:
    """Return which domains may have capacity for all given members."""
    demands = [each for each in demands if each.number]
    feasible = np.ones(domains.size, bool)
    load = np.zeros(domains.size)
    for demand, number in demands:
        limits = domains.sum(demand.max_members)
        feasible &= limits >= number
        load += number / np.maximum(limits, 1)
    # The members fit if their shares of capacity add up to less than one:
    # no comparison below can fail.
    if not (feasible & (load > FULL)).any():
        return feasible
    for group in _by_classes(demands):
        members = sum(number for _, number in group)
        feasible &= bound_members(group, domains) >= members
    for resource in _resources(demands):
        if feasible.any():
            feasible &= _has_amount(host_arrays, demands, resource, domains)
    return feasible


def bound_members(demands: Iterable[PartialDemand], domains: Domains) -> Ints:
    """Return an upper bound on the members that fit, by domain.

    :param demands: with their largest numbers of members
    """
    total = np.zeros(domains.size, np.int64)
    for group in _by_classes(demands):
        # Demands of the same classes compete for capacity.
        alone = np.max([demand.max_alone for demand, _ in group], axis=0)
        limits = np.sum([demand.max_members for demand, _ in group], axis=0)
        by_domain = domains.sum(np.minimum(alone, limits))
        number = sum(number for _, number in group)
        total += np.minimum(by_domain.astype(np.int64), number)
    return total


def count_members(
    host_arrays: HostArrays, demands: Sequence[PartialDemand]
) -> int:
    """Return an upper bound on the members that fit on all hosts.

    Of each resource those that need the least come first.

    :param demands: with their largest numbers of members
    """
    whole_cloud = Domains.whole_cloud(len(host_arrays.ids))
    [number] = bound_members(demands, whole_cloud).tolist()
    for resource in _resources(demands):
        left = sum(np.maximum(host_arrays.free(resource), 0).tolist())
        fitting = 0
        for amount, size in sorted(
            (_least(demand, resource), size) for demand, size in demands
        ):
            placed = min(size, left // amount) if amount else size
            fitting += placed
            left -= placed * amount
        number = min(number, fitting)
    return int(number)


def _least(demand: Demand, resource: str) -> int:
    return min(each.get(resource, 0) for each in _requests(demand))


def _by_classes(
    demands: Iterable[PartialDemand],
) -> Collection[list[PartialDemand]]:
    groups = collections.defaultdict[tuple[int, ...], list[PartialDemand]](
        list
    )
    for each in demands:
        groups[tuple(map(id, each.demand.classes))].append(each)
    return groups.values()


def _resources(demands: Iterable[PartialDemand]) -> list[str]:
    return sorted(
        {
            resource
            for demand, _ in demands
            for request in _requests(demand)
            for resource in request
        }
    )


def _requests(demand: Demand) -> Iterator[Amounts]:
    """Yield every request that a member of a demand may make."""
    for member_class in demand.classes:
        yield member_class.request
        for options in member_class.alternatives.values():
            yield from options


def _has_amount(
    host_arrays: HostArrays,
    demands: Sequence[PartialDemand],
    resource: str,
    domains: Domains,
) -> Bools:
    """Return which domains may have enough of one resource."""
    needed = 0
    requested: set[int] = set()
    usable = np.zeros(len(host_arrays.ids), bool)
    for demand, number in demands:
        amounts = {r.get(resource, 0) for r in _requests(demand)}
        needed += number * min(amounts)
        requested |= amounts
        usable |= demand.max_alone > 0
    if not needed:
        return np.ones(domains.size, bool)
    free = np.where(usable, host_arrays.free(resource), 0)
    members = sum(number for _, number in demands)
    max_amount = min(max(requested) * members, np.iinfo(np.int64).max)
    reachable = arrays.round_to_sums(
        np.minimum(free, max_amount), requested - {0}
    )
    total = domains.sum(reachable)
    return (
        np.where(total < _MAX_EXACT, total, total * _ROUNDING_MARGIN) >= needed
    )

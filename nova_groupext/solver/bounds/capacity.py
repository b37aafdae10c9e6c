# SPDX-License-Identifier: Apache-2.0
"""Upper bounds on the members that fit into each domain.

The bounds are optimistic: a domain that they find too small is too small.
"""

import collections
import math

import numpy as np

# Whole numbers below this are exact as floats; larger sums get a margin far
# above their rounding error.
_EXACT = 2**53
_MARGIN = 1 + 1e-9

#: Sum of shares that counts as full: rounding may leave it below one.
FULL = 1 - 1e-9

# Largest number of steps in the bitmap of reachable sums of a resource.
_LONGEST_LIST = 200_000


def has_capacity(cloud, wanted, domains):
    """Return which domains may have capacity for all given members.

    :param wanted: list of (demand.Demand, number of its members)
    :param domains: (domain number of each host, number of domains)
    :returns: bool array, by domain
    """
    wanted = [(crowd, number) for crowd, number in wanted if number]
    fine = np.ones(domains[1], bool)
    load = np.zeros(domains[1])
    for crowd, number in wanted:
        room = per_domain(crowd.most, domains)
        fine &= room >= number
        load += number / np.maximum(room, 1)
    # The members fit if their shares of capacity add up to less than one:
    # no comparison below can fail.
    if not (fine & (load > FULL)).any():
        return fine
    for alike in _by_classes(wanted):
        room = members(alike, domains)
        fine &= room >= sum(number for _, number in alike)
    for resource in _resources(wanted):
        if fine.any():
            fine &= _holds_amount(cloud, wanted, resource, domains)
    return fine


def members(wanted, domains):
    """Return an upper bound on the members that fit.

    :param wanted: list of (demand.Demand, largest number of its members)
    :returns: int array, by domain
    """
    room = np.zeros(domains[1], np.int64)
    for alike in _by_classes(wanted):
        # Demands of the same classes compete for capacity.
        fits = np.max([crowd.fits for crowd, _ in alike], axis=0)
        most = np.sum([crowd.most for crowd, _ in alike], axis=0)
        total = per_domain(np.minimum(fits, most), domains)
        number = sum(number for _, number in alike)
        room += np.minimum(total.astype(np.int64), number)
    return room


def per_domain(values, domains):
    """Sum host values by domain; hosts without a domain do not count."""
    numbers, size = domains
    if size == 1 and not numbers.any():
        return np.array([values.sum()])
    # Hosts without a domain have number -1: drop their sum.
    return np.bincount(numbers + 1, weights=values, minlength=size + 1)[1:]


def _by_classes(wanted):
    groups = collections.defaultdict(list)
    for crowd, number in wanted:
        groups[tuple(map(id, crowd.classes))].append((crowd, number))
    return groups.values()


def _resources(wanted):
    return sorted(
        {
            resource
            for crowd, _ in wanted
            for request in _requests(crowd)
            for resource in request
        }
    )


def _requests(crowd):
    """Yield every request that a member of a demand may make."""
    for member_class in crowd.classes:
        yield member_class.request
        for ways in member_class.alternatives.values():
            yield from ways


def _holds_amount(cloud, wanted, resource, domains):
    """Return which domains may have enough of one resource."""
    need = 0
    asked = set()
    usable = False
    for crowd, number in wanted:
        amounts = {r.get(resource, 0) for r in _requests(crowd)}
        need += number * min(amounts)
        asked |= amounts
        usable = usable | (crowd.fits > 0)
    if not need:
        return np.ones(domains[1], bool)
    free = np.where(usable, cloud.free(resource), 0)
    crowd = sum(number for _, number in wanted)
    most = min(max(asked) * crowd, np.iinfo(np.int64).max)
    useful = _reachable(np.minimum(free, most), asked - {0})
    total = per_domain(useful.astype(float), domains)
    return np.where(total < _EXACT, total, total * _MARGIN) >= need


def _reachable(free, amounts):
    """Round free amounts down to sums of requested amounts."""
    step = math.gcd(*amounts)
    length = int(free.max(initial=0)) // step + 1
    if length > _LONGEST_LIST:
        return free
    sums = 1
    within = (1 << length) - 1
    for amount in amounts:
        shift = amount // step
        while shift < length:
            sums |= sums << shift & within
            shift *= 2
    data = np.frombuffer(sums.to_bytes(length // 8 + 1, 'little'), np.uint8)
    is_sum = np.unpackbits(data, bitorder='little')[:length]
    numbers = np.where(is_sum, np.arange(length), 0)
    return np.maximum.accumulate(numbers)[free // step] * step

# SPDX-License-Identifier: Apache-2.0
"""Is there room for some members, domain by domain?

Every answer may be too hopeful, never too bleak.
"""

import collections
import math

import numpy as np

# Whole numbers below this are exact as floats; beyond, sums are taken with a
# margin far above their rounding.
_EXACT = 2**53
_MARGIN = 1 + 1e-9

#: Shares whose sum may have been rounded to less than one.
FULL = 1 - 1e-9

# Steps up to which reachable sums of a resource are listed.
_LONGEST_LIST = 200_000


def holds(cloud, wanted, domains):
    """Which domains may have room for all members that are wanted.

    :param wanted: list of (crowds.Crowd, how many of it)
    :param domains: (number of its domain for each host, how many domains)
    :returns: bool array, by domain
    """
    wanted = [(crowd, number) for crowd, number in wanted if number]
    fine = np.ones(domains[1], bool)
    load = np.zeros(domains[1])
    for crowd, number in wanted:
        room = per_domain(crowd.most, domains)
        fine &= room >= number
        load += number / np.maximum(room, 1)
    # Shares of all the room there is that add up to one at most: whatever is
    # compared below, there is enough of it.
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
    """How many members there may be room for at most.

    :param wanted: list of (crowds.Crowd, how many of it at most)
    :returns: int array, by domain
    """
    room = np.zeros(domains[1], np.int64)
    for alike in _by_classes(wanted):
        # They compete for the same room.
        fits = np.max([crowd.fits for crowd, _ in alike], axis=0)
        most = np.sum([crowd.most for crowd, _ in alike], axis=0)
        total = per_domain(np.minimum(fits, most), domains)
        number = sum(number for _, number in alike)
        room += np.minimum(total.astype(np.int64), number)
    return room


def per_domain(values, domains):
    """Sums of what the hosts have, by domain; those without have no part."""
    numbers, size = domains
    if size == 1 and not numbers.any():
        return np.array([values.sum()])
    # Those without a domain are counted first, and left out.
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
    """Everything that one of the crowd may ask for somewhere."""
    for member_class in crowd.classes:
        yield member_class.request
        for ways in member_class.alternatives.values():
            yield from ways


def _holds_amount(cloud, wanted, resource, domains):
    """Which domains may have enough of a resource."""
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
    """What is left of some numbers when rounded down to sums of amounts."""
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

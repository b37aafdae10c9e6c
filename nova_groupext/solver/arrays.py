# SPDX-License-Identifier: Apache-2.0
"""Arrays: type aliases by the type of their entries, and what fits.

They are not in ``aliases``, which the API imports without numpy.
"""

from collections.abc import Collection
from collections.abc import Iterable
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nova_groupext.solver import tuning

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

#: How many fit without a capacity limit: more than any topology's members.
UNLIMITED = 1_000_000


def count_fits(free: Ints, needs: Ints) -> Ints:
    """Return how many times needs fit, as the minimum over the first axis."""
    times = np.where(needs > 0, free // np.maximum(needs, 1), UNLIMITED)
    least: Ints = times.min(axis=0, initial=UNLIMITED)
    return np.maximum(least, 0)


def round_to_sums(free: Ints, amounts: Collection[int]) -> Ints:
    """Round free amounts down to sums of requested amounts.

    :param amounts: positive; each may be a term many times
    """
    step = math.gcd(*amounts)
    length = int(free.max(initial=0)) // step + 1
    if length > tuning.MAX_BITMAP_STEPS:
        return free
    sums = 1
    mask = (1 << length) - 1
    for amount in amounts:
        shift = amount // step
        while shift < length:
            sums |= sums << shift & mask
            shift *= 2
    data = np.frombuffer(sums.to_bytes(length // 8 + 1, 'little'), np.uint8)
    is_sum = np.unpackbits(data, bitorder='little')[:length]
    numbers = np.where(is_sum, np.arange(length), 0)
    return np.maximum.accumulate(numbers)[free // step] * step


def concatenate(parts: Iterable[Ints]) -> Ints:
    """Return one array of integers; of no parts, an empty one."""
    return np.concatenate([np.zeros(0, np.int64), *parts])


def starts(groups: Ints) -> Ints:
    """Return where each group of equal entries begins.

    :param groups: sorted
    """
    is_new = np.ones(len(groups), bool)
    is_new[1:] = groups[1:] != groups[:-1]
    return np.flatnonzero(is_new)

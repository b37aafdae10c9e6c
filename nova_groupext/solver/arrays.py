# SPDX-License-Identifier: Apache-2.0
"""Arrays: type aliases by the type of their entries, and what fits.

They are not in ``aliases``, which the API imports without numpy.
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

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

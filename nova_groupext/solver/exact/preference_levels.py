# SPDX-License-Identifier: Apache-2.0
"""Lexicographic levels of scores that differ by orders of magnitude.

The solver rounds, so one objective cannot hold scores of 1e9 and 2. Where all
that the small scores can add is less than the least difference of the large
ones, the solver maximises the large ones first instead.
"""

from collections.abc import Iterator

import numpy as np

from nova_groupext.solver.arrays import Floats

#: Absolute maximum of the scores of a level.
MAX_SCORE = 1_000


def split(scores: Floats, members: int) -> Iterator[Floats]:
    """Yield the levels of scores, the most important first.

    Maximising the levels in this order maximises the sum.

    :param scores: of one member in each column
    :param members: number of members that may have a score
    :returns: iterator of scores, scaled to at most MAX_SCORE
    """
    rest = scores
    while maximum := np.abs(rest).max(initial=0):
        unit = maximum / MAX_SCORE
        large = np.rint(rest / unit)
        small = rest - large * unit
        # Members that change their hosts lose the one and gain the other.
        if 2 * members * np.abs(small).max() >= unit:
            yield rest / unit
            return
        yield large
        # Rounding leaves a rest of scores that are multiples.
        small[np.abs(small) < maximum * np.finfo(float).eps] = 0
        rest = small

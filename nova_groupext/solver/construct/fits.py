# SPDX-License-Identifier: Apache-2.0
"""Numbers of times that needs of members fit into free amounts."""

import numpy as np

from nova_groupext.solver.arrays import Ints

# Capacity for members that need nothing
_UNLIMITED = 1 << 31


def on_hosts(hosts: slice, needs: Ints) -> Ints:
    """Return the needs on some hosts; a last axis of 1 means all hosts."""
    return needs[..., hosts] if needs.shape[-1] > 1 else needs


def count_fits(free: Ints, needs: Ints) -> Ints:
    """Return how many times needs fit, as the minimum over the first axis."""
    times = np.where(needs > 0, free // np.maximum(needs, 1), _UNLIMITED)
    least: Ints = times.min(axis=0, initial=_UNLIMITED)
    return np.maximum(least, 0)

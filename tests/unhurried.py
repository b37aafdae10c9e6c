# SPDX-License-Identifier: Apache-2.0
"""A planner that is not cut short by a slow machine.

It gives parts of its work a few seconds at the most. Where tests share a
processor with others, these seconds may bring nothing.
"""

import functools

from nova_groupext.planner import feasible
from nova_groupext.planner import neighbours
from nova_groupext.planner import proofs
from nova_groupext.planner.repair import allot
from nova_groupext.planner.repair import bundles
from nova_groupext.planner.repair import crowds
from nova_groupext.planner.repair import repairs

_SLICES = (
    (allot, '_SECONDS'),
    (bundles, '_SLICE'),
    (crowds, '_SLICE'),
    (feasible, '_AT_ONCE'),
    (feasible, '_SLICE'),
    (neighbours, '_SLICE'),
    (proofs, '_SKETCH_SLICE'),
    (proofs, '_SLICE'),
    (repairs, '_SLICE'),
)
_TIMES = 20


@functools.cache
def stretch():
    """Make every slice of time in this process many times as long."""
    for module, name in _SLICES:
        setattr(module, name, _TIMES * getattr(module, name))

# SPDX-License-Identifier: Apache-2.0
"""A planner that is not cut short by a slow machine.

It gives parts of its work a few seconds at the most. Where tests share a
processor with others, these seconds may bring nothing.
"""

import functools

from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import joint_reinsertion
from nova_groupext.solver.repair import master_problem
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import neighbourhood

_SLICES = (
    (master_problem, '_SECONDS'),
    (colocation_groups, '_SLICE'),
    (joint_reinsertion, '_SLICE'),
    (feasible, '_AT_ONCE'),
    (feasible, '_SLICE'),
    (neighbourhood, '_SLICE'),
    (quick_proofs, '_SKETCH_SLICE'),
    (quick_proofs, '_SLICE'),
    (reinsertion, '_SLICE'),
)
_TIMES = 20


@functools.cache
def stretch():
    """Make every slice of time in this process many times as long."""
    for module, name in _SLICES:
        setattr(module, name, _TIMES * getattr(module, name))

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
    (colocation_groups, '_SECONDS'),
    (joint_reinsertion, '_SECONDS'),
    (feasible, '_QUICK_SECONDS'),
    (feasible, '_SAMPLE_SECONDS'),
    (neighbourhood, '_SECONDS'),
    (quick_proofs, '_RELAXATION_SECONDS'),
    (quick_proofs, '_SUBPROBLEM_SECONDS'),
    (reinsertion, '_SECONDS'),
)
_FACTOR = 20


@functools.cache
def lengthen_all():
    """Make every slice of time in this process many times as long."""
    for module, name in _SLICES:
        setattr(module, name, _FACTOR * getattr(module, name))

# SPDX-License-Identifier: Apache-2.0
"""The solver in a child process with a memory limit."""

import functools

from nova_groupext.conf import CONF
from nova_groupext.solver.solve import child
from nova_groupext.solver.solve import decide


def solve(problem):
    """Return the solver's answers.Answer.

    :param problem: problems.Problem
    """
    limit = CONF.vrt.solver_memory_limit * 1024**2
    return decide.decide(
        problem, functools.partial(child.run, memory_limit=limit)
    )

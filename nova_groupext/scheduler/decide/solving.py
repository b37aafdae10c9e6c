# SPDX-License-Identifier: Apache-2.0
"""The planner, asked in a process of its own that gets only so much memory."""

import functools

from nova_groupext.conf import CONF
from nova_groupext.planner import child
from nova_groupext.planner import decide


def solve(problem):
    """Return the planner's answer.Answer.

    :param problem: problem.Problem
    """
    limit = CONF.vrt.planning_memory_limit * 1024**2
    return decide.decide(
        problem, functools.partial(child.run, memory_limit=limit)
    )

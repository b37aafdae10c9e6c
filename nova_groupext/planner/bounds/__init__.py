# SPDX-License-Identifier: Apache-2.0
"""Proofs that there is no plan, in milliseconds and without a solver.

Every check compares what has to come with the most that there can be room
for. So a proof is a proof; that nothing is found here says nothing.

``clouds`` has the hosts as arrays, ``crowds`` who has to come and where that
may be, ``pins`` what pinned members break by themselves, and ``checks`` the
comparisons.
"""

from nova_groupext.planner.bounds import checks
from nova_groupext.planner.bounds import clouds
from nova_groupext.planner.bounds import pins

Cloud = clouds.Cloud


def impossible(problem, cloud=None):
    """Look for a proof that a problem has no plan.

    :param problem: problem.Problem
    :param cloud: the Cloud of another problem with the same hosts and levels
    :returns: the tags that leave no plan by themselves, a frozenset, or None
    """
    broken = pins.broken(problem)
    if broken:
        return frozenset(broken[:1])
    if cloud is None or not cloud.is_of(problem):
        cloud = Cloud(problem)
    return next(checks.proofs(problem, cloud), None)

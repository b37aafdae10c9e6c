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
    return checks.Checks(problem, _cloud(problem, cloud)).proof()


def look(problem, cloud=None):
    """Look for a proof, and at what comes out on the way.

    :param problem: problem.Problem
    :param cloud: as above
    :returns: (tags or None, stem path -> share of all the room there may be
        for its members that they take, the problem without the hosts where
        they cannot be)
    """
    broken = pins.broken(problem)
    if broken:
        return frozenset(broken[:1]), {}, problem
    found = checks.Checks(problem, _cloud(problem, cloud))
    return found.proof(), found.shares(), found.narrowed()


def _cloud(problem, cloud):
    is_same = cloud is not None and cloud.is_of(problem)
    return cloud if is_same else Cloud(problem)

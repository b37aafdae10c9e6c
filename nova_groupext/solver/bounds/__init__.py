# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that take milliseconds and need no solver.

Every check compares demand with an upper bound on capacity. A failed check
therefore proves that no plan exists; passing every check proves nothing.

``host_arrays`` has the hosts as arrays, ``demand`` the members to place and
their hosts, ``fixed`` the policies that pinned members alone violate, and
``checks`` the comparisons.
"""

from nova_groupext.solver.bounds import checks
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.bounds import host_arrays

HostArrays = host_arrays.HostArrays


def impossible(problem, cloud=None):
    """Search for a proof that a problem has no plan.

    :param problem: problems.Problem
    :param cloud: HostArrays of a problem with the same hosts and levels; an
        unsuitable one is ignored
    :returns: frozenset of assumptions that no plan satisfies, or None
    """
    broken = fixed.broken(problem)
    if broken:
        return frozenset(broken[:1])
    return checks.Checks(problem, _cloud(problem, cloud)).proof()


def look(problem, cloud=None):
    """Search for a proof, and return the by-products of the checks.

    :param problem: problems.Problem
    :param cloud: as in impossible()
    :returns: (assumptions or None, {stem path: demand as a share of the upper
        bound on capacity}, the problem without the excluded hosts)
    """
    broken = fixed.broken(problem)
    if broken:
        return frozenset(broken[:1]), {}, problem
    found = checks.Checks(problem, _cloud(problem, cloud))
    return found.proof(), found.shares(), found.narrowed()


def _cloud(problem, cloud):
    is_same = cloud is not None and cloud.is_of(problem)
    return cloud if is_same else HostArrays(problem)

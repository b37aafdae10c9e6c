# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that take milliseconds and need no solver.

Every check compares demand with an upper bound on capacity. A failed check
therefore proves that no plan exists; passing every check proves nothing.

``host_arrays`` has the hosts as arrays, ``demands`` the members to place and
their hosts, ``fixed`` the policies that pinned members alone violate, and
``checks`` the comparisons. ``reduction`` drops the hosts that these exclude.
"""

from nova_groupext.solver.bounds import checks
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.bounds import host_arrays

HostArrays = host_arrays.HostArrays


def prove_infeasible(problem, arrays=None):
    """Search for a proof that a problem has no plan.

    :param problem: problems.Problem
    :param arrays: HostArrays of a problem with the same hosts and levels; an
        unsuitable one is ignored
    :returns: frozenset of assumptions that no plan satisfies, or None
    """
    violated = fixed.find_violated(problem)
    if violated:
        return frozenset(violated[:1])
    return checks.Checks(problem, _arrays(problem, arrays)).proof()


def analyse(problem, arrays=None):
    """Search for a proof, and return the by-products of the checks.

    :param problem: problems.Problem
    :param arrays: as in prove_infeasible()
    :returns: (assumptions or None, {member set path: demand as a share of the
        upper bound on capacity}, the problem without the excluded hosts)
    """
    violated = fixed.find_violated(problem)
    if violated:
        return frozenset(violated[:1]), {}, problem
    analysis = checks.Checks(problem, _arrays(problem, arrays))
    return analysis.proof(), analysis.shares(), analysis.reduced()


def _arrays(problem, arrays):
    is_suitable = arrays is not None and arrays.is_for(problem)
    return arrays if is_suitable else HostArrays(problem)

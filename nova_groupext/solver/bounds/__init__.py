# SPDX-License-Identifier: Apache-2.0
"""Infeasibility proofs that take milliseconds and need no solver.

Every check compares demand with an upper bound on capacity. A failed check
therefore proves that no plan exists; passing every check proves nothing.

``demands`` has the members to place and their hosts, ``fixed`` the policies
that pinned members alone violate, and ``checks`` the comparisons.
``reduction`` drops the hosts that these exclude.
"""

from typing import NamedTuple

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.bounds import capacity
from nova_groupext.solver.bounds import checks
from nova_groupext.solver.bounds import demands
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.assumptions import Assumption


class Analysis(NamedTuple):
    """A proof, if there is one, and by-products of the checks.

    :ivar proof: assumptions that no plan satisfies
    :ivar shares: demand of member sets as a share of the upper bound on their
        capacity
    :ivar reduced: the problem without the excluded hosts
    """

    proof: frozenset[Assumption] | None
    shares: dict[Path, float]
    reduced: problems.Problem


def prove_infeasible(
    problem: problems.Problem,
) -> frozenset[Assumption] | None:
    """Search for a proof that a problem has no plan.

    :returns: assumptions that no plan satisfies, or None
    """
    violated = fixed.find_violated(problem)
    if violated:
        return frozenset(violated[:1])
    return checks.Checks(problem).proof()


def count_members(problem: problems.Problem) -> int:
    """Return an upper bound on the members that a plan places."""
    arrays = host_arrays.of(problem)
    found = demands.gather(problem, arrays).values()
    return len(problem.pinned) + capacity.count_members(
        arrays, [demands.PartialDemand(each, each.size) for each in found]
    )


def analyse(problem: problems.Problem) -> Analysis:
    """Search for a proof, and return the by-products of the checks."""
    violated = fixed.find_violated(problem)
    if violated:
        return Analysis(frozenset(violated[:1]), {}, problem)
    analysis = checks.Checks(problem)
    return Analysis(analysis.proof(), analysis.shares(), analysis.reduced())

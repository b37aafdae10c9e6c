# SPDX-License-Identifier: Apache-2.0
"""Partial plans: what constructions reached before they failed."""

from typing import NamedTuple
from typing import Self

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations


class PartialPlan(NamedTuple):
    """Plan of some members.

    :ivar unplaced: the other members, in lists of those that share a domain
    """

    plan: violations.Plan
    unplaced: list[list[Path]]

    @classmethod
    def of(cls, problem: problems.Problem, plan: violations.Plan) -> Self:
        """Return a plan and the members that it leaves out, by member set."""
        unplaced = [
            [m.path for m in each.members if m.path not in plan.placement]
            for each in problem.topology.member_sets
        ]
        return cls(plan, [paths for paths in unplaced if paths])

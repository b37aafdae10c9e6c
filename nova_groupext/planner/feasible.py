# SPDX-License-Identifier: Apache-2.0
"""Is there any lawful plan at all?"""

import dataclasses

from nova_groupext.planner import rules
from nova_groupext.planner.exact import milp
from nova_groupext.planner.exact import objectives


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One of three: a plan, a proof that there is none, or neither in time.

    :ivar plan: rules.Plan, lawful, or None
    :ivar is_impossible: proved that there is no plan
    """

    plan: rules.Plan | None = None
    is_impossible: bool = False


def find(problem, clock):
    """Look for any lawful plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: Verdict
    """
    exact = objectives.Exact(problem, clock)
    outcome = exact.find_any()
    return Verdict(exact.plan, outcome.status is milp.Status.INFEASIBLE)

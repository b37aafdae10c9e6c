# SPDX-License-Identifier: Apache-2.0
"""The exact programme, asked whether there is a plan."""

import dataclasses

from nova_groupext.planner import clock as clocks
from nova_groupext.planner import rules

# Seconds that a seat takes to be written into a programme.
_PER_SEAT = 3e-4


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One of three: a plan, a proof that there is none, or neither in time.

    :ivar plan: rules.Plan, lawful, or None
    :ivar is_impossible: proved that there is no plan
    :ivar stage: what came to it: 'greedy', 'repair', 'restricted' or
        'full'
    :ivar closest: without a plan: one that leaves out members that have to
        come, lawful as far as it goes, or None
    """

    plan: rules.Plan | None = None
    is_impossible: bool = False
    stage: str = 'full'
    closest: rules.Plan | None = None


def has_time_for(seats, clock):
    """Whether a programme can be written in half of the time, and solved.

    :param seats: hosts that each unit might use, summed up
    :param clock: clock.Clock
    """
    return seats * _PER_SEAT < clock.left() / 2


def ask(problem, clock):
    """Ask for any lawful plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: Verdict
    """
    if not clock.left():
        return Verdict()
    # The solver is slow to import, and attempts often make do without it.
    from nova_groupext.planner.exact import milp
    from nova_groupext.planner.exact import objectives

    try:
        exact = objectives.Exact(problem, clock)
        outcome = exact.find_any()
    except clocks.OutOfTime:
        return Verdict()
    return Verdict(exact.plan, outcome.status is milp.Status.INFEASIBLE)

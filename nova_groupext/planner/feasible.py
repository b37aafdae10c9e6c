# SPDX-License-Identifier: Apache-2.0
"""Is there any lawful plan at all?

Attempts come first: they take milliseconds. What they leave is asked of the
exact programme with a few hosts for each unit, other ones each time, and more
of them only when these are proved not to do. Only the programme with all
hosts proves that there is no plan.
"""

import dataclasses

from nova_groupext.planner import repair
from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import greedy

# Attempts at first, and after each time that something else was in vain.
_ATTEMPTS = 8
_MORE_ATTEMPTS = 4

# Failed attempts that are repaired.
_REPAIRS = 4

# Seats up to which all hosts are asked at once.
SMALL = 3_000

# How many times more hosts than needed are asked at first.
_WIDTH = 2.0

# Seconds for some of the hosts, and how often, before all are asked.
_SLICE = 3.0
_SLICES = 4


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One of three: a plan, a proof that there is none, or neither in time.

    :ivar plan: rules.Plan, lawful, or None
    :ivar is_impossible: proved that there is no plan
    :ivar stage: 'greedy', 'repair', 'restricted' or 'full': what came to it
    """

    plan: rules.Plan | None = None
    is_impossible: bool = False
    stage: str = 'greedy'


def find(problem, clock):
    """Look for any lawful plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: Verdict
    """
    if problem.hosts and len(problem.pinned) < len(problem.class_of):
        attempts = greedy.Greedy(problem)
        plan = _attempt(attempts, _ATTEMPTS, clock)
        if plan is not None:
            return Verdict(plan)
        if attempts.seats > SMALL:
            plan = _repair(problem, attempts, clock)
            if plan is not None:
                return Verdict(plan, stage='repair')
            plan = _ask_some(problem, attempts, clock)
            if plan is not None:
                return Verdict(plan, stage='restricted')
    return _ask(problem, clock, 'full')


def _attempt(attempts, most, clock):
    """The first plan of some attempts."""
    for _ in range(most):
        plan = attempts.attempt()
        if plan is not None or not clock.left():
            return plan
    return None


def _repair(problem, attempts, clock):
    """The first plan that an attempt is repaired to."""
    for _ in range(_REPAIRS):
        plan = repair.run(problem, attempts.most, clock)
        if plan is None and clock.left():
            attempts.most = None
            plan = _attempt(attempts, _MORE_ATTEMPTS, clock)
        if plan is not None:
            return plan
    return None


def _ask_some(problem, attempts, clock):
    """Ask the exact programme with some of the hosts."""
    width = _WIDTH
    for number in range(_SLICES):
        part = subproblem.on_hosts(problem, attempts.pick_hosts(width))
        verdict = _ask(part, clock.slice(_SLICE * (1 + number)), 'restricted')
        plan = verdict.plan or _attempt(attempts, _MORE_ATTEMPTS, clock)
        if plan is not None or not clock.left():
            return plan
        if verdict.is_impossible:
            width *= 1.5
    return None


def _ask(problem, clock, stage):
    """Ask the exact programme."""
    # The solver is slow to import, and attempts often make do without it.
    from nova_groupext.planner.exact import milp
    from nova_groupext.planner.exact import objectives

    exact = objectives.Exact(problem, clock)
    outcome = exact.find_any()
    is_impossible = outcome.status is milp.Status.INFEASIBLE
    return Verdict(exact.plan, is_impossible, stage)

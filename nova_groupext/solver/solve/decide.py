# SPDX-License-Identifier: Apache-2.0
"""Joint decision for all members of a group."""

from collections.abc import Callable
import time

from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import child


class UnsoundPlan(RuntimeError):
    """Wrong plan or cost of the solver itself: a bug, not an answer."""


def decide(
    problem: problems.Problem,
    engine: Callable[[problems.Problem], answers.Answer] = child.run,
) -> answers.Answer:
    """Place a group, refuse it with a proof, or report that time ran out.

    :returns: an answer whose plan and soft cost are verified
    :raises UnsoundPlan: the engine is wrong
    """
    start = time.monotonic()
    answer = engine(problem)
    if answer.status == 'placed':
        plan = violations.as_plan(
            problem, answer.placement, answer.alternative
        )
        violated = violations.find(problem, plan)
        if violated:
            raise UnsoundPlan(f'the plan has violations: {violated}')
        cost = float(violations.soft_cost(problem, plan.placement))
        stated = answer.cost and answer.cost['soft']
        if cost != stated:
            raise UnsoundPlan(f'the plan costs {cost}, not {stated}')
    return answer.with_stats(seconds=round(time.monotonic() - start, 3))

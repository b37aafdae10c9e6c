# SPDX-License-Identifier: Apache-2.0
"""Joint decision for all members of a group."""

import time

from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import child


class UnsoundPlan(RuntimeError):
    """Wrong plan or cost of the solver itself: a bug, not an answer."""


def decide(problem, engine=child.run):
    """Place a group, refuse it with a proof, or report that time ran out.

    :param problem: problems.Problem
    :param engine: function of a problem that returns an answers.Answer
    :returns: answers.Answer; its plan and soft cost are verified
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
        if cost != answer.cost['soft']:
            raise UnsoundPlan(
                f'the plan costs {cost}, not {answer.cost["soft"]}'
            )
    return answer.with_stats(seconds=round(time.monotonic() - start, 3))

# SPDX-License-Identifier: Apache-2.0
"""One joint decision for all members of a group."""

import time

from nova_groupext.planner import child
from nova_groupext.planner import rules


class UnsoundPlan(RuntimeError):
    """The planner's own plan breaks a rule: a bug, not an answer."""


def decide(problem, engine=child.run):
    """Place a group, refuse it with a proof, or say that time ran out.

    :param problem: problem.Problem
    :param engine: what turns a problem into an answer.Answer
    :returns: answer.Answer, its plan checked against the rules
    :raises UnsoundPlan: the engine is wrong
    """
    start = time.monotonic()
    answer = engine(problem)
    plan = rules.Plan(answer.placement, answer.alternative)
    if answer.status == 'placed':
        faults = rules.faults(problem, plan)
        if faults:
            raise UnsoundPlan(f'unlawful: {faults}')
        cost = float(rules.soft_cost(problem, plan.placement))
        if cost != answer.cost['soft']:
            raise UnsoundPlan(f'costs {cost}, not {answer.cost["soft"]}')
    return answer.with_stats(seconds=round(time.monotonic() - start, 3))

# SPDX-License-Identifier: Apache-2.0
"""From a problem to its answer, in stages that each improve on the last."""

from nova_groupext.planner import answer
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import explain
from nova_groupext.planner.exact import milp
from nova_groupext.planner.exact import objectives
from nova_groupext.planner.exact import ties


def solve(problem):
    """The last of search()."""
    *_, last = search(problem)
    return last


def search(problem):
    """Give better and better answers; the last one is the best in time.

    Runs in this process: what HiGHS does to memory or time, it does here.

    :param problem: problem.Problem
    :returns: generator of answer.Answer, at least one
    """
    broken = explain.broken_by_pins(problem)
    if broken:
        yield answer.refused(broken, [], _stats('pins'))
        return
    clock = clocks.Clock(problem.time_limit)
    run = objectives.Exact(problem, clock)
    status = run.place_members()
    if status is milp.Status.INFEASIBLE:
        policies, stems = explain.refusal(problem, clock)
        yield answer.refused(policies, stems, _stats('members'))
    elif run.plan is None:
        yield answer.undecided(_stats('members', cut_short=True))
    else:
        yield _placed(run, 'members')
        yield from _improve(run)


def _improve(run):
    run.cut_cost()
    yield _placed(run, 'cost')
    run.raise_preference()
    yield _placed(run, 'preference')
    if run.is_proved and ties.is_worth_it(run):
        ties.settle(run)
        yield _placed(run, 'ties')


def _placed(run, stage):
    return answer.placed(
        run.problem, run.plan, run.bound, _stats(stage, not run.is_proved)
    )


def _stats(stage, cut_short=False):
    return {'stage': stage, 'cut_short': cut_short}

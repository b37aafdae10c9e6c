# SPDX-License-Identifier: Apache-2.0
"""From a problem to its answer, in stages that each improve on the last."""

from nova_groupext.planner import alike
from nova_groupext.planner import answer
from nova_groupext.planner import best as bests
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import explain
from nova_groupext.planner import feasible
from nova_groupext.planner import improve
from nova_groupext.planner import proofs


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
    clock = clocks.Clock(problem.time_limit)
    lean = alike.merged(problem)
    finder = feasible.Search(lean, clock)
    verdict = finder.try_once()
    if verdict.plan is None:
        proof = proofs.find(lean, clock)
        if proof is not None:
            stats = {'stage': proof.stage}
            yield from _refuse(problem, clock, stats, proof.tags)
            return
        verdict = finder.find()
    stats = {'stage': verdict.stage, 'cut_short': not verdict.is_impossible}
    if verdict.plan is not None:
        best = bests.Best(lean, verdict.plan)
        stats['first_seconds'] = round(clock.spent(), 4)
        yield best.answer(problem, stats)
        for stage in improve.stages(best, finder.attempts, clock):
            yield best.answer(problem, {**stats, **stage})
    elif verdict.is_impossible:
        yield from _refuse(problem, clock, stats)
    else:
        yield answer.undecided(stats)


def _refuse(problem, clock, stats, tags=None):
    for refusal in explain.refusals(problem, clock, tags):
        stats.setdefault('first_seconds', round(clock.spent(), 4))
        yield answer.refused(refusal, stats)

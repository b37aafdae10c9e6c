# SPDX-License-Identifier: Apache-2.0
"""Stages of the solver: from a problem to answers that improve."""

from collections.abc import Iterator

from nova_groupext.solver import bounds
from nova_groupext.solver import explain
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import merging
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.proofs import quick_proofs
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import improve
from nova_groupext.solver.search import incumbent


def solve(problem: problems.Problem) -> answers.Answer:
    """Return the last answer of search()."""
    *_, last = search(problem)
    return last


def search(problem: problems.Problem) -> Iterator[answers.Answer]:
    """Yield better and better answers; the last is the best in time.

    This process is not protected from HiGHS's use of memory and time.

    :returns: one answer at least
    """
    budget = time_budget.WorkBudget(
        problem.time_limit, deadline=problem.max_wait
    )
    merged = merging.merge_equivalent(problem)
    feasibility_search = feasible.FeasibilitySearch(merged, budget)
    verdict = feasibility_search.construct_once()
    if verdict.plan is None:
        analysis = bounds.analyse(merged)
        if analysis.proof is not None:
            yield from _refuse(
                problem, budget, {'stage': 'bounds'}, analysis.proof
            )
            return
        verdict = feasibility_search.find(
            analysis.reduced,
            lambda: quick_proofs.find(merged, analysis.shares, budget),
        )
    stats: answer_parts.Stats = {
        'stage': verdict.stage,
        'cut_short': not verdict.is_infeasible,
    }
    if verdict.plan is not None:
        best = incumbent.Incumbent(merged, verdict.plan)
        stats['first_seconds'] = round(budget.elapsed(), 4)
        yield best.answer(problem, stats)
        for stage in improve.improve_plan(
            best, feasibility_search.greedy, budget
        ):
            yield best.answer(problem, {**stats, **stage})
    elif verdict.is_infeasible:
        yield from _refuse(problem, budget, stats, verdict.assumed)
    else:
        yield answers.undecided(stats)


def _refuse(
    problem: problems.Problem,
    budget: time_budget.TimeBudget,
    stats: answer_parts.Stats,
    assumed: frozenset[Assumption] | None = None,
) -> Iterator[answers.Answer]:
    for refusal in explain.refusals(problem, budget, assumed):
        stats.setdefault('first_seconds', round(budget.elapsed(), 4))
        yield answers.refused(refusal, stats)

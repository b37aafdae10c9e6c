# SPDX-License-Identifier: Apache-2.0
"""Stages of the solver: from a problem to answers that improve."""

from collections.abc import Iterator
import dataclasses

from nova_groupext.solver import bounds
from nova_groupext.solver import explain
from nova_groupext.solver import tuning
from nova_groupext.solver.exact.feasibility import Verdict
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import merging
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
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
    verdict = _find_all(merged, budget)
    search = feasible.FeasibilitySearch(merged, budget)
    if verdict.plan is None:
        verdict = _find(merged, search, budget)
    stats: answer_parts.Stats = {
        'stage': verdict.stage,
        'cut_short': not verdict.is_infeasible,
    }
    if verdict.plan is not None:
        best = incumbent.Incumbent(merged, verdict.plan)
        stats['first_seconds'] = round(budget.elapsed(), 6)
        yield best.answer(problem, stats)
        for stage in improve.improve_plan(best, search.greedy, budget):
            yield best.answer(problem, {**stats, **stage})
    elif verdict.is_infeasible:
        yield from _refuse(problem, budget, stats, verdict.assumed)
    else:
        yield answers.undecided(stats)


def _find_all(
    problem: problems.Problem, budget: time_budget.TimeBudget
) -> Verdict:
    """Search for a plan of all members where some may be left out.

    :returns: perhaps a plan that leaves some out
    """
    if all(s.min_count == s.count for s in problem.topology.member_sets):
        return Verdict()
    strict = subproblem.require_all(problem)
    # The plan, and all later ones, depend on how far this gets.
    budget = budget.slice(budget.remaining() * tuning.ALL_MEMBERS_SHARE)
    search = feasible.FeasibilitySearch(strict, budget)
    verdict = _find(strict, search, budget)
    partial = verdict.best_partial_plan
    if verdict.plan is not None or partial is None:
        return verdict
    if violations.find(problem, partial):
        return Verdict()
    return Verdict(partial, stage='partial')


def _find(
    problem: problems.Problem,
    search: feasible.FeasibilitySearch,
    budget: time_budget.TimeBudget,
) -> Verdict:
    """Search for a plan, or for a proof that there is none."""
    verdict = search.construct_once()
    if verdict.plan is not None:
        return verdict
    analysis = bounds.analyse(problem)
    if analysis.proof is not None:
        return Verdict(None, True, 'bounds', analysis.proof)
    # No proof depends on who stays; it would only divide the classes.
    plain = dataclasses.replace(problem, keeps_current=False)
    return search.find(
        analysis.reduced,
        lambda: quick_proofs.find(plain, analysis.shares, budget),
    )


def _refuse(
    problem: problems.Problem,
    budget: time_budget.TimeBudget,
    stats: answer_parts.Stats,
    assumed: frozenset[Assumption] | None = None,
) -> Iterator[answers.Answer]:
    for refusal in explain.refusals(problem, budget, assumed):
        stats.setdefault('first_seconds', round(budget.elapsed(), 6))
        yield answers.refused(refusal, stats)

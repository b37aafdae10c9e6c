# SPDX-License-Identifier: Apache-2.0
"""Improvement of a plan for the rest of the time, and proofs of optimality.

In a small problem the integer program over all hosts mostly finds the optimum
directly. In a larger one, further constructions come first, then integer
programs for a few members at a time while the others stay where they are. The
integer program over all hosts gets the remaining time.
"""

import functools

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import neighbourhood

_ATTEMPTS = 40

# Share of the time for the integer program of a small problem, before all
# else.
_FIRST_SHARE = 0.5

# Share of the remaining time for constructions.
_LITTLE = 0.1

# Share of the remaining time for neighbourhoods.
_SHARE = 0.6

# Pairs of equivalence class and host up to which the integer program over all
# hosts runs: a larger one would need too much memory.
_LARGE = 100_000


def stages(best, attempts, budget):
    """Improve a plan, step by step.

    :param best: incumbent.Incumbent, which is updated
    :param attempts: squeaky_wheel.SqueakyWheel, None if nothing to place
    :param budget: time_budget.TimeBudget
    :returns: generator of the stats that each step changes
    """
    seats = attempts.seats if attempts else 0
    if seats <= feasible.SMALL:
        is_proved = yield from _prove(best, budget, _FIRST_SHARE)
        if is_proved or not seats or not budget.left():
            return
    elif best.is_perfect and not _has_scores(best.problem):
        yield {'cut_short': budget.is_cut_short}
        return
    yield from _attempt(best, attempts, budget)
    yield from _look_around(best, budget)
    if seats <= _LARGE and feasibility.has_time_for(seats, budget):
        yield from _prove(best, budget)


def _has_scores(problem):
    return any(
        score
        for member_class in problem.classes.values()
        for score in member_class.scores.values()
    )


def _attempt(best, attempts, budget):
    """Run further constructions."""
    budget = budget.slice(budget.left() * _LITTLE)
    for _ in range(_ATTEMPTS):
        plan = attempts.attempt(budget=budget)
        if plan is not None and best.offer(plan):
            yield {'stage': 'greedy', 'cut_short': True}
        if not budget.left():
            break


def _look_around(best, budget):
    """Run large neighbourhood search."""
    some_time = budget.slice(budget.left() * _SHARE)
    for plan in neighbourhood.search(best, some_time):
        if best.offer(plan):
            yield {'stage': 'neighbours', 'cut_short': True}


def _prove(best, budget, share=1):
    """Optimise one objective after the other, over all hosts.

    :param share: share of the remaining time for the objectives
    :returns: generator of stats, which returns whether the plan is optimal
    """
    from nova_groupext.solver.exact import objectives
    from nova_groupext.solver.exact import tie_breaking

    some_time = budget.slice(budget.left() * share)
    try:
        exact = objectives.Exact(best.problem, some_time)
    except time_budget.OutOfTime:
        return False
    exact.start_from(best.plan)
    for stage, step in (
        ('members', exact.place_members),
        ('cost', exact.minimise_cost),
        ('preference', exact.maximise_preference),
    ):
        _do(step, exact)
        # Which of several equal plans results depends on earlier steps.
        yield _note(best, exact, stage, budget.is_cut_short)
    is_proved = exact.is_proved
    if is_proved and tie_breaking.is_worth_it(exact):
        exact.go_on(budget)
        _do(functools.partial(tie_breaking.break_ties, exact), exact)
        yield _note(best, exact, 'ties')
    return is_proved


def _do(step, exact):
    """Run a step; if the time runs out, mark the result as unproved."""
    try:
        step()
    except time_budget.OutOfTime:
        exact.is_proved = False


def _note(best, exact, stage, is_cut_short=False):
    best.take(exact.plan, exact.rank, exact.bound)
    return {
        'stage': stage,
        'cut_short': is_cut_short or not exact.is_proved,
    }

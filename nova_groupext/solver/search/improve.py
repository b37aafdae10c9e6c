# SPDX-License-Identifier: Apache-2.0
"""Improvement of a plan for the rest of the time, and proofs of optimality.

In a small problem the integer program over all hosts mostly finds the optimum
directly. In a larger one, further constructions come first, then integer
programs for a few members at a time while the others keep their hosts. Then
each soft policy alone gives a lower bound of the cost, and the integer program
over all hosts gets the remaining time, or neighbourhoods if it takes too long.
"""

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
import functools
from typing import TYPE_CHECKING

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import neighbourhood
from nova_groupext.solver.search import policy_bounds
from nova_groupext.solver.search import rack_neighbourhood
from nova_groupext.solver.search.incumbent import Incumbent

if TYPE_CHECKING:
    # The solver is slow to import, and not every plan needs it.
    from nova_groupext.solver.exact import objectives


def improve_plan(
    incumbent: Incumbent,
    greedy: squeaky_wheel.SqueakyWheel | None,
    budget: time_budget.TimeBudget,
) -> Iterator[answer_parts.Stats]:
    """Improve a plan, step by step.

    :param incumbent: the plan, which is updated
    :param greedy: None if nothing to place
    :returns: the stats that each step changes
    """
    variable_count = greedy.variable_count if greedy else 0
    if greedy is None or variable_count <= tuning.SMALL_VARIABLES:
        is_proved = yield from _prove(
            incumbent, budget, tuning.SMALL_EXACT_SHARE
        )
        if is_proved or greedy is None or not variable_count:
            return
        if not budget.remaining():
            return
    elif incumbent.is_best:
        yield {'cut_short': budget.is_cut_short}
        return
    for stats in _search(incumbent, greedy, budget):
        if incumbent.is_best:
            yield {**stats, 'cut_short': budget.is_cut_short}
            return
        yield stats
    if (
        variable_count <= tuning.MAX_EXACT_VARIABLES
        and feasibility.has_time_for(variable_count, budget)
    ):
        yield from _prove(incumbent, budget)
    else:
        plans = neighbourhood.search(incumbent, budget)
        yield from _offer(incumbent, plans, 'neighbourhood')


def _search(
    incumbent: Incumbent,
    greedy: squeaky_wheel.SqueakyWheel,
    budget: time_budget.TimeBudget,
) -> Iterator[answer_parts.Stats]:
    """Search for better plans, and bound the soft cost."""
    part = budget.slice(budget.remaining() * tuning.MOST_MEMBERS_SHARE)
    plans = rack_neighbourhood.search(incumbent, part)
    yield from _offer(incumbent, plans, 'members')
    yield from _construct(incumbent, greedy, budget)
    part = budget.slice(budget.remaining() * tuning.NEIGHBOURHOOD_SHARE)
    plans = neighbourhood.search(incumbent, part)
    yield from _offer(incumbent, plans, 'neighbourhood')
    part = budget.slice(budget.remaining() * tuning.BOUNDS_SHARE)
    yield from _bound(incumbent, part)


def _construct(
    incumbent: Incumbent,
    greedy: squeaky_wheel.SqueakyWheel,
    budget: time_budget.TimeBudget,
) -> Iterator[answer_parts.Stats]:
    """Run further constructions."""
    budget = budget.slice(budget.remaining() * tuning.MORE_CONSTRUCTIONS_SHARE)
    for _ in range(tuning.MORE_CONSTRUCTIONS):
        plan = greedy.run_iteration(budget=budget)
        if plan is not None and incumbent.offer(plan):
            yield {'stage': 'greedy', 'cut_short': True}
        if not budget.remaining():
            break


def _offer(
    incumbent: Incumbent, plans: Iterable[violations.Plan], stage: str
) -> Iterator[answer_parts.Stats]:
    """Offer the plans of a search, each of which starts from the best."""
    for plan in plans:
        if incumbent.offer(plan):
            yield {'stage': stage, 'cut_short': True}


def _bound(
    incumbent: Incumbent, budget: time_budget.TimeBudget
) -> Iterator[answer_parts.Stats]:
    """Bound the soft cost."""
    bound = policy_bounds.find(incumbent.problem, incumbent.plan, budget)
    if bound > incumbent.bound:
        incumbent.bound = bound
        yield {'stage': 'bound', 'cut_short': True}


def _prove(
    incumbent: Incumbent, budget: time_budget.TimeBudget, share: float = 1
) -> Generator[answer_parts.Stats, None, bool]:
    """Optimise one objective after the other, over all hosts.

    :param share: share of the remaining time for the objectives
    :returns: generator that returns whether the plan is optimal
    """
    from nova_groupext.solver.exact import objectives
    from nova_groupext.solver.exact import tie_breaking

    partial_budget = budget.slice(budget.remaining() * share)
    try:
        exact = objectives.ExactSolver(incumbent.problem, partial_budget)
    except time_budget.OutOfTime:
        return False
    exact.start_from(incumbent.plan)
    for stage, step in exact.steps():
        _run_step(step, exact)
        # Which of several equal plans results depends on earlier steps.
        yield _update(incumbent, exact, stage, budget.is_cut_short)
    is_proved = exact.is_proved
    if is_proved and tie_breaking.is_affordable(exact):
        exact.extend_time(budget)
        _run_step(functools.partial(tie_breaking.break_ties, exact), exact)
        yield _update(incumbent, exact, 'tie-breaking')
    return is_proved


def _run_step(
    step: Callable[[], object], exact: 'objectives.ExactSolver'
) -> None:
    """Run a step; if the time runs out, mark the result as unproved."""
    try:
        step()
    except time_budget.OutOfTime:
        exact.is_proved = False


def _update(
    incumbent: Incumbent,
    exact: 'objectives.ExactSolver',
    stage: str,
    is_cut_short: bool = False,
) -> answer_parts.Stats:
    solution = exact.incumbent
    incumbent.replace(solution.plan, solution.objective, exact.bound)
    if exact.has_most_members and incumbent.members_bound is not None:
        incumbent.members_bound = solution.objective.members
    return {
        'stage': stage,
        'cut_short': is_cut_short or not exact.is_proved,
    }

# SPDX-License-Identifier: Apache-2.0
"""Search for any feasible plan.

Greedy constructions come first: they take milliseconds. Reinsertion completes
them with small integer programs, in turn with the integer program over a few
hosts for each equivalence class, different ones each time. Only the integer
program over all hosts proves that there is no plan.
"""

import collections
from collections.abc import Iterator
import dataclasses
import itertools

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import reinsertion


def find(
    problem: problems.Problem, budget: time_budget.TimeBudget
) -> feasibility.Verdict:
    """Search for any feasible plan."""
    return FeasibilitySearch(problem, budget).find()


def complete(
    problem: problems.Problem,
    plan: violations.Plan,
    budget: time_budget.TimeBudget,
    share: float,
) -> violations.Plan | None:
    """Search for a plan that completes another; prove nothing.

    Some constructions come first: they take less time than moving many
    members.

    :param plan: plan of some members, feasible except for the others
    :param share: share of the time that remains after the constructions
    :returns: None for a small problem, left to find()
    """
    if not problem.hosts or not problem.class_of.keys() - plan.placement:
        return None
    greedy = squeaky_wheel.SqueakyWheel(problem)
    if greedy.variable_count <= tuning.SMALL_VARIABLES:
        return None
    for _ in range(tuning.CONSTRUCTIONS):
        new_plan = greedy.run_iteration(heeds_soft=False, budget=budget)
        if new_plan is not None or not budget.remaining():
            return new_plan
    unplaced = collections.defaultdict[Path, list[Path]](list)
    for member in problem.topology.members:
        if member.path not in plan.placement:
            unplaced[member.member_set].append(member.path)
    greedy.best_partial = squeaky_wheel.PartialPlan(
        plan, list(unplaced.values())
    )
    repaired: violations.Plan | None = reinsertion.Reinsertion(greedy).run(
        budget.slice(budget.remaining() * share)
    )
    return repaired


class FeasibilitySearch:
    """Search for a plan, also where there is nothing to place.

    :ivar greedy: None if nothing to place
    """

    def __init__(
        self, problem: problems.Problem, budget: time_budget.TimeBudget
    ) -> None:
        self._problem = problem
        self._budget = budget
        self.greedy: squeaky_wheel.SqueakyWheel | None = None
        self._search: _Search | None = None
        if problem.hosts and problem.movable:
            self.greedy = squeaky_wheel.SqueakyWheel(problem)
            self._search = _Search(self.greedy, budget)

    def construct_once(self) -> feasibility.Verdict:
        """Run one construction without soft policies on a small problem."""
        if self._search is None:
            return feasibility.Verdict()
        return self._search.construct_once()

    def find(self) -> feasibility.Verdict:
        """Search until there is a verdict or the time is over."""
        if self._search is None:
            return feasibility.solve(self._problem, self._budget)
        return self._search.find()


class _Search:
    """Search for a plan that alternates between several methods."""

    def __init__(
        self,
        greedy: squeaky_wheel.SqueakyWheel,
        budget: time_budget.TimeBudget,
    ) -> None:
        self.problem = greedy.problem
        self.budget = budget
        self.greedy = greedy
        self._reinsertion = reinsertion.Reinsertion(greedy)
        self._ratio = tuning.INITIAL_RATIO

    def construct_once(self) -> feasibility.Verdict:
        if self.greedy.variable_count > tuning.MAX_FAST_VARIABLES:
            return feasibility.Verdict()
        plan = self.greedy.run_iteration(False, self._construction_budget())
        return feasibility.Verdict(plan, stage='greedy')

    def find(self) -> feasibility.Verdict:
        verdict = self._construct()
        for method in (
            self._solve_quickly,
            self._alternate,
            self._solve_all_hosts,
        ):
            if verdict.plan is None and not verdict.is_infeasible:
                verdict = method(self.budget)
        return dataclasses.replace(
            verdict, best_partial_plan=self._reinsertion.best_partial_plan
        )

    def _solve_quickly(
        self, budget: time_budget.TimeBudget
    ) -> feasibility.Verdict:
        """Run the integer program over all hosts if it is mostly fast."""
        if self.greedy.variable_count > tuning.SMALL_VARIABLES:
            return feasibility.Verdict()
        return self._solve_all_hosts(budget.slice(tuning.QUICK_SECONDS))

    def _solve_all_hosts(
        self, budget: time_budget.TimeBudget
    ) -> feasibility.Verdict:
        if feasibility.has_time_for(self.greedy.variable_count, budget):
            return feasibility.solve(self.problem, budget)
        return feasibility.Verdict()

    def _alternate(
        self, budget: time_budget.TimeBudget
    ) -> feasibility.Verdict:
        """Alternate reinsertion, integer program and constructions."""
        rest = budget.slice(
            budget.remaining() * (1 - tuning.ALTERNATION_SHARE)
        )
        if feasibility.has_time_for(self.greedy.variable_count, rest):
            budget = budget.slice(
                budget.remaining() * tuning.ALTERNATION_SHARE
            )
        for number in itertools.count():
            for verdict in self._run_round(number, budget):
                if verdict.plan is not None or verdict.is_infeasible:
                    return verdict
            if not budget.remaining():
                break
        return feasibility.Verdict()

    def _run_round(
        self, number: int, budget: time_budget.TimeBudget
    ) -> Iterator[feasibility.Verdict]:
        yield self._reinsert(budget)
        yield self._solve_some_hosts(number, budget)
        yield self._construct()

    def _construct(self) -> feasibility.Verdict:
        """Return the first plan of some constructions, as a verdict.

        Every other one respects soft policies: the first and third if the
        problem is small, else the second and fourth; none if it is very large.
        """
        variable_count = self.greedy.variable_count
        for number in range(tuning.CONSTRUCTIONS):
            heeds_soft = (
                variable_count <= tuning.MAX_SOFT_VARIABLES
                and number % 2 == (variable_count > tuning.MAX_FAST_VARIABLES)
            )
            plan = self.greedy.run_iteration(
                heeds_soft, self._construction_budget()
            )
            if plan is not None or not self.budget.remaining():
                break
        return feasibility.Verdict(plan, stage='greedy')

    def _construction_budget(self) -> time_budget.TimeBudget:
        """Return one construction's budget; it may exceed the time limit."""
        seconds = max(
            tuning.MIN_CONSTRUCTION_SECONDS,
            self.budget.remaining() * tuning.CONSTRUCTION_SHARE,
        )
        return time_budget.TimeBudget(seconds, self.budget)

    def _reinsert(self, budget: time_budget.TimeBudget) -> feasibility.Verdict:
        plan = self._reinsertion.run(budget)
        # Later constructions compete only with one another.
        self.greedy.best_partial = None
        return feasibility.Verdict(plan, stage='repair')

    def _solve_some_hosts(
        self, number: int, budget: time_budget.TimeBudget
    ) -> feasibility.Verdict:
        if number in tuning.ALL_HOSTS_ROUNDS:
            part_budget = budget.slice(
                budget.remaining() * tuning.ALL_HOSTS_SHARE
            )
            return self._solve_all_hosts(part_budget)
        hosts = self.greedy.sample_hosts(self._ratio)
        part = subproblem.restrict_hosts(self.problem, hosts)
        verdict = feasibility.solve(part, budget.slice(tuning.SAMPLE_SECONDS))
        if verdict.is_infeasible:
            # Infeasible over these hosts only: sample more of them next time.
            self._ratio = min(tuning.MAX_RATIO, self._ratio * 1.5)
        return dataclasses.replace(
            verdict, is_infeasible=False, stage='restricted'
        )

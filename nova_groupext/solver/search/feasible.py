# SPDX-License-Identifier: Apache-2.0
"""Search for any feasible plan.

Where members are now is the start, if that is known. Otherwise greedy
constructions come first: they take milliseconds. The integer program then
decides all members at once, over the domains and hosts around the best partial
plan: it mostly finds a plan soon or never, so it gets little time, and other
hosts in the next turn. Repair inserts the members that constructions left out.
In turn, the program runs over many domains and hosts, or over all.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import itertools
import math

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import current_plan
from nova_groupext.solver.construct import partial_plan
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.feasibility import Verdict
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import EquivalenceClass
from nova_groupext.solver.model.time_budget import TimeBudget
from nova_groupext.solver.repair import reinsertion


def find(problem: problems.Problem, budget: TimeBudget) -> Verdict:
    """Search for any feasible plan."""
    return FeasibilitySearch(problem, budget).find()


class FeasibilitySearch:
    """Search for a plan, also where there is nothing to place.

    :ivar greedy: None if nothing to place
    """

    def __init__(self, problem: problems.Problem, budget: TimeBudget) -> None:
        self._problem = problem
        self._budget = budget
        self.greedy: squeaky_wheel.SqueakyWheel | None = None
        self._steps: _Steps | None = None
        if problem.hosts and problem.movable:
            self.greedy = squeaky_wheel.SqueakyWheel(problem)
            self._steps = _Steps(self.greedy, budget)

    def construct_once(self) -> Verdict:
        """Start with the current plan, or else run one construction.

        A construction that takes longer than bounds is not run.
        """
        if self._steps is None:
            return Verdict()
        verdict = self._steps.keep_current()
        if (
            verdict.plan is None
            and self._steps.variables <= tuning.MAX_FAST_VARIABLES
        ):
            verdict = self._steps.construct(1)
        return verdict

    def find(
        self,
        narrowed: problems.Problem | None = None,
        prove: Callable[[], Verdict] = Verdict,
    ) -> Verdict:
        """Search until there is a verdict or the time is over.

        :param narrowed: problem with the same plans and fewer hosts
        :param prove: function that searches for a cheaper proof that there is
            no plan
        """
        if self._steps is None:
            return feasibility.solve(self._problem, self._budget)
        if narrowed is not None:
            self._steps.narrow(narrowed)
        for verdict in self._run(self._steps, prove):
            if verdict.is_final or not self._budget.remaining():
                break
        return dataclasses.replace(
            verdict, best_partial_plan=self._steps.best_partial_plan
        )

    def _run(
        self, steps: '_Steps', prove: Callable[[], Verdict]
    ) -> Iterator[Verdict]:
        """Run the steps of the search, and yield their verdicts."""
        is_tiny = steps.variables <= tuning.TINY_VARIABLES
        yield steps.construct(1 if is_tiny else None)
        yield steps.solve_first()
        if is_tiny:
            yield steps.construct(tuning.CONSTRUCTIONS - 1)
        yield prove()
        if steps.variables <= tuning.MAX_TURN_VARIABLES:
            # It takes less time than a repair that may be in vain.
            yield steps.solve_part()
        while True:
            yield steps.repair()
            yield steps.solve_part()
            yield steps.construct()
            yield steps.solve_part()


class _Steps:
    """Steps of a search.

    :ivar variables: number of variables of the program over all hosts
    """

    def __init__(
        self, greedy: squeaky_wheel.SqueakyWheel, budget: TimeBudget
    ) -> None:
        self._greedy = greedy
        self._budget = budget
        self.variables = greedy.variable_count
        self._problem = greedy.problem
        self._constructions = itertools.count()
        self._parts = itertools.count()
        self._near = 1.0
        self._time_factor = 1.0
        self._wide: float = tuning.WIDE
        # Wider samples have too many variables.
        self._max_width = math.inf
        self._partial_plan: violations.Plan | None = None
        self._reinsertion = reinsertion.Reinsertion(greedy)
        self._seconds_of_all: float = tuning.ALL_SECONDS
        self._seconds_of_repair: float = tuning.REPAIR_SECONDS

    def narrow(self, problem: problems.Problem) -> None:
        """Use fewer hosts in programs.

        :param problem: problem with the same plans
        """
        self._problem = problem
        arrays = host_arrays.of(problem)
        self.variables = sum(
            int(np.count_nonzero(arrays.max_members(self._class_of(eq_class))))
            for eq_class in self._greedy.state.eq_classes
        )

    def _class_of(self, eq_class: EquivalenceClass) -> problems.MemberClass:
        return self._problem.class_of[eq_class.members[0]]

    def construct(self, number: int | None = None) -> Verdict:
        """Return the first plan of some constructions.

        Every other one respects soft policies, unless the problem is large.
        """
        plan = None
        for _ in range(number or tuning.CONSTRUCTIONS):
            respects_soft = (
                next(self._constructions) % 2 == 1
                and self.variables <= tuning.MAX_SOFT_VARIABLES
            )
            plan = self._greedy.run_iteration(
                respects_soft, self._construction_budget()
            )
            if plan is not None or not self._budget.remaining():
                break
        if self._greedy.best_partial is not None:
            self._partial_plan = self._greedy.best_partial.plan
        return Verdict(plan, stage='greedy')

    def _construction_budget(self) -> TimeBudget:
        """Return one construction's budget; it may exceed the time limit."""
        seconds = max(
            tuning.MIN_CONSTRUCTION_SECONDS,
            self._budget.remaining() * tuning.CONSTRUCTION_SHARE,
        )
        return self._budget.beyond(seconds)

    def keep_current(self) -> Verdict:
        """Keep members where they are, and insert the others.

        Constructions are faster where most members are to be inserted.
        """
        movable = self._problem.movable
        if not self._problem.may_stay:
            return Verdict()
        seconds = self._budget.remaining() * tuning.CURRENT_SHARE
        try:
            plan = current_plan.find(
                self._problem, self._budget.attempt(seconds)
            )
        except time_budget.OutOfTime:
            return Verdict()
        kept = movable & plan.placement.keys()
        if kept == movable and not violations.find(self._problem, plan):
            return Verdict(plan, stage='current')
        if 2 * len(kept) < len(movable):
            return Verdict()
        self._greedy.best_partial = partial_plan.PartialPlan.of(
            self._problem, plan
        )
        verdict = self._repair(self._budget.remaining() * tuning.CURRENT_SHARE)
        if verdict.plan is None and self._problem.keeps_current:
            verdict = self._solve_kept(plan)
        return dataclasses.replace(verdict, stage='current')

    def _solve_kept(self, plan: violations.Plan) -> Verdict:
        """Run the program that keeps members, over more and more hosts.

        The objective makes its relaxation strong, and its time long.
        """
        budget = self._budget.slice(
            self._budget.remaining() * tuning.KEEPING_SHARE
        )
        verdict = Verdict()
        for width in tuning.KEEPING_WIDTHS:
            seconds = budget.remaining()
            if verdict.is_final or not seconds:
                break
            verdict = self._solve_some(width, plan, seconds)
        return verdict

    def solve_first(self) -> Verdict:
        """Run the program over all hosts if it is mostly fast, or a part."""
        if self.variables > tuning.SMALL_VARIABLES:
            return self.solve_part()
        return feasibility.solve(
            self._problem, self._budget.slice(tuning.QUICK_SECONDS)
        )

    def repair(self) -> Verdict:
        """Insert what the best of the latest constructions left out."""
        seconds = self._seconds_of_repair
        self._seconds_of_repair *= tuning.REPAIR_GROWTH
        return self._repair(seconds)

    def _repair(self, seconds: float) -> Verdict:
        plan = self._reinsertion.run(self._budget.slice(seconds))
        self._partial_plan = self._reinsertion.last_plan or self._partial_plan
        # Later constructions compete only with one another.
        self._greedy.best_partial = None
        return Verdict(plan, stage='repair')

    @property
    def best_partial_plan(self) -> violations.Plan | None:
        """Largest partial plan so far."""
        found: violations.Plan | None = self._reinsertion.best_partial_plan
        return found

    def solve_part(self) -> Verdict:
        """Run the integer program over some hosts, or in turn over all."""
        number = next(self._parts)
        turn = self._turn_of_all()
        if turn and number % turn == turn - 1:
            return self._solve_all()
        return self._solve_wide() if number % 3 == 2 else self._solve_near()

    def _turn_of_all(self) -> int:
        """Return the number of programs of which one is over all hosts."""
        if self.variables <= tuning.SMALL_VARIABLES:
            return 1
        if self.variables <= tuning.MAX_TURN_VARIABLES:
            return 2
        if self.variables <= tuning.MAX_EXACT_VARIABLES:
            return tuning.RARE_TURN
        return 0

    def _solve_all(self, *, keeps_current: bool = False) -> Verdict:
        seconds = max(
            self._seconds_of_all, self.variables * tuning.SECONDS_PER_VARIABLE
        )
        self._seconds_of_all = 2 * seconds
        return feasibility.solve(
            self._problem,
            self._budget.slice(seconds),
            keeps_current=keeps_current,
        )

    def _solve_near(self) -> Verdict:
        """Run the program over few hosts around the latest partial plan."""
        return self._solve_some(self._near, self._partial_plan)

    def _solve_wide(self) -> Verdict:
        """Run the program over many domains and hosts."""
        verdict = self._solve_some(self._wide)
        self._wide *= tuning.PART_GROWTH
        return verdict

    def _solve_some(
        self,
        width: float,
        plan: violations.Plan | None = None,
        seconds_to_keep: float = 0,
    ) -> Verdict:
        """Run the program over some hosts.

        :param plan: plan whose hosts are candidates, too
        :param seconds_to_keep: least seconds for a program that keeps members
            on their current hosts; 0 for any plan
        """
        keeps_current = seconds_to_keep > 0
        hosts = self._sample_hosts(width, plan)
        variables = sum(map(len, hosts.values()))
        if variables >= tuning.MAX_PART_SHARE * self.variables:
            return self._solve_all(keeps_current=keeps_current)
        seconds = self._time_factor * max(
            tuning.PART_SECONDS,
            variables * tuning.SECONDS_PER_VARIABLE,
            seconds_to_keep,
        )
        verdict = feasibility.solve(
            subproblem.restrict_hosts(self._problem, hosts),
            self._budget.slice(seconds),
            keeps_current=keeps_current,
            proof=Proof.NEEDLESS,
        )
        if not verdict.is_final:
            self._time_factor *= tuning.PART_GROWTH
        if verdict.is_infeasible and plan is not None:
            self._near *= tuning.PART_GROWTH
        return dataclasses.replace(
            verdict, is_infeasible=False, stage='restricted'
        )

    def _sample_hosts(
        self, width: float, plan: violations.Plan | None
    ) -> dict[EquivalenceClass, frozenset[HostId]]:
        """Return candidate hosts of all classes, not too many in all."""
        self._greedy.find_all_fitting(
            self._budget.slice(tuning.FITTING_SECONDS)
        )
        width = min(width, self._max_width)
        while True:
            sampled = self._greedy.sample_hosts(
                candidate_list.of_part(width), plan=plan
            )
            hosts = {
                eq_class: self._class_of(eq_class).hosts.intersection(names)
                for eq_class, names in sampled.items()
            }
            variables = sum(map(len, hosts.values()))
            if variables <= tuning.MAX_PART_VARIABLES or width <= 1:
                return hosts
            width /= 2
            self._max_width = width

# SPDX-License-Identifier: Apache-2.0
"""Search for any feasible plan.

Greedy constructions come first: they take milliseconds. Reinsertion completes
them with small integer programs, in turn with the integer program over a few
hosts for each equivalence class, different ones each time. Only the integer
program over all hosts proves that there is no plan.
"""

import collections
import dataclasses
import itertools

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.repair import reinsertion

# Constructions at first, and in each round.
_ATTEMPTS = 4

# Share of the remaining time for one construction, and the seconds that it may
# take in any case.
_ATTEMPT_SHARE = 0.3
_ATTEMPT = 0.5

# Sizes, in pairs of equivalence class and host, up to which a construction is
# faster than a search for proofs, and up to which it can respect soft
# policies.
_QUICK = 20_000
_LARGE = 100_000

# Size up to which the integer program over all hosts runs at once; its
# seconds.
SMALL = 3_000
_AT_ONCE = 0.5

# Share of the time for the rounds, if the rest is enough for the integer
# program over all hosts.
_SHARE = 0.7

# Rounds that run the integer program over all hosts, and its share of the
# remaining time; and the seconds of other rounds, over some hosts.
_FULL = (2, 8)
_FULL_SHARE = 0.2
_SLICE = 2.0

# Ratio of hosts offered to hosts needed, at first and at most.
_WIDTH = 2.0
_MOST_WIDTH = 8.0


def find(problem, budget):
    """Search for any feasible plan.

    :param problem: problems.Problem
    :param budget: time_budget.TimeBudget
    :returns: feasibility.Verdict
    """
    return FeasibilitySearch(problem, budget).find()


def complete(problem, plan, budget, share):
    """Search for a plan that completes another; prove nothing.

    Some constructions come first: they take less time than moving many
    members.

    :param problem: problems.Problem
    :param plan: violations.Plan of some members, feasible except for the
        others
    :param budget: time_budget.TimeBudget
    :param share: share of the time left after the constructions
    :returns: violations.Plan or None; None for a small problem, left to find()
    """
    if not problem.hosts or not problem.class_of.keys() - plan.placement:
        return None
    finder = squeaky_wheel.SqueakyWheel(problem)
    if finder.seats <= SMALL:
        return None
    for _ in range(_ATTEMPTS):
        found = finder.attempt(heeds_soft=False, budget=budget)
        if found is not None or not budget.left():
            return found
    missing = collections.defaultdict(list)
    for member in problem.topology.members:
        if member.path not in plan.placement:
            missing[member.stem].append(member.path)
    finder.most = plan, list(missing.values())
    return reinsertion.Reinsertion(finder).run(
        budget.slice(budget.left() * share)
    )


class FeasibilitySearch:
    """Search for a plan that alternates between several methods.

    :ivar attempts: squeaky_wheel.SqueakyWheel, None if nothing to place
    """

    def __init__(self, problem, budget):
        self.problem = problem
        self.budget = budget
        self.attempts = None
        if problem.hosts and problem.movable:
            self.attempts = squeaky_wheel.SqueakyWheel(problem)
            self._repairs = reinsertion.Reinsertion(self.attempts)
        self._width = _WIDTH

    def try_once(self):
        """Run one construction without soft policies on a small problem."""
        if self.attempts is None or self.attempts.seats > _QUICK:
            return feasibility.Verdict()
        plan = self.attempts.attempt(False, self._share())
        return feasibility.Verdict(plan, stage='greedy')

    def find(self):
        """Search until there is a verdict or the time is over."""
        if self.attempts is None:
            return feasibility.ask(self.problem, self.budget)
        verdict = self._attempt()
        for step in (self._ask_at_once, self._go_round, self._ask_all):
            if verdict.plan is None and not verdict.is_impossible:
                verdict = step(self.budget)
        return dataclasses.replace(verdict, closest=self._repairs.closest)

    def _ask_at_once(self, budget):
        """Run the integer program over all hosts if it is mostly fast."""
        if self.attempts.seats > SMALL:
            return feasibility.Verdict()
        return self._ask_all(budget.slice(_AT_ONCE))

    def _ask_all(self, budget):
        if feasibility.has_time_for(self.attempts.seats, budget):
            return feasibility.ask(self.problem, budget)
        return feasibility.Verdict()

    def _go_round(self, budget):
        """Alternate reinsertion, integer program and constructions."""
        rest = budget.slice(budget.left() * (1 - _SHARE))
        if feasibility.has_time_for(self.attempts.seats, rest):
            budget = budget.slice(budget.left() * _SHARE)
        for number in itertools.count():
            for verdict in self._steps(number, budget):
                if verdict.plan is not None or verdict.is_impossible:
                    return verdict
            if not budget.left():
                return feasibility.Verdict()

    def _steps(self, number, budget):
        yield self._repair(budget)
        yield self._ask(number, budget)
        yield self._attempt()

    def _attempt(self):
        """Return the first plan of some constructions, as a Verdict.

        Every other one respects soft policies: the first and third if the
        problem is small, else the second and fourth; none if it is very large.
        """
        seats = self.attempts.seats
        for number in range(_ATTEMPTS):
            heeds_soft = seats <= _LARGE and number % 2 == (seats > _QUICK)
            plan = self.attempts.attempt(heeds_soft, self._share())
            if plan is not None or not self.budget.left():
                break
        return feasibility.Verdict(plan, stage='greedy')

    def _share(self):
        """Return one construction's budget; it may exceed the time limit."""
        seconds = max(_ATTEMPT, self.budget.left() * _ATTEMPT_SHARE)
        return time_budget.TimeBudget(seconds, self.budget)

    def _repair(self, budget):
        plan = self._repairs.run(budget)
        # Later constructions compete only with one another.
        self.attempts.most = None
        return feasibility.Verdict(plan, stage='repair')

    def _ask(self, number, budget):
        if number in _FULL:
            share = budget.slice(budget.left() * _FULL_SHARE)
            return self._ask_all(share)
        hosts = self.attempts.pick_hosts(self._width)
        part = subproblem.on_hosts(self.problem, hosts)
        verdict = feasibility.ask(part, budget.slice(_SLICE))
        if verdict.is_impossible:
            # Infeasible over these hosts only: offer more of them next time.
            self._width = min(_MOST_WIDTH, self._width * 1.5)
        return dataclasses.replace(
            verdict, is_impossible=False, stage='restricted'
        )

# SPDX-License-Identifier: Apache-2.0
"""The lexicographic optimum: members, then cost, then preference.

Each step optimises one objective under the values reached before, and fixes
its own value. `violations` checks every solution as a plan.
"""

import collections
import fractions

from highspy import ObjSense
from highspy import highs
import numpy as np

from nova_groupext.solver.exact import cost_levels
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import policy_rows
from nova_groupext.solver.exact import variables
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations

# Scores are scaled to at most 1000; smaller differences count as equal.
_LARGEST_SCORE = 1_000
_EQUAL_SCORES = 1e-5


class Exact:
    """Exact optimisation of a problem, step by step, with an incumbent.

    :ivar counts: variables.Variable -> its value in the incumbent, if positive
    :ivar plan: incumbent violations.Plan, None before the first
    :ivar rank: violations.objective() of the incumbent, () before the first
    :ivar bound: proven least soft cost at this number placed, a Fraction
    :ivar is_proved: whether every step so far is proved optimal
    """

    def __init__(self, problem, budget):
        """Build the program with all strict policies.

        :param budget: time_budget.TimeBudget
        :raises OutOfTime: here and in any step that adds rows or columns
        """
        self.problem = problem
        self.budget = budget
        self.model = member_counts.Model(problem, budget)
        self.counts = {}
        self.plan = None
        self.rank = ()
        self.bound = fractions.Fraction(0)
        self.is_proved = True
        for policy in problem.topology.policies:
            if policy.strict:
                policy_rows.add_strict(self.model, policy)

    def go_on(self, budget):
        """Replace the time budget."""
        self.budget = self.model.seating.solver.budget = budget

    def start_from(self, plan):
        """Make a feasible plan the incumbent, unless it is worse."""
        counts = collections.Counter()
        for unit in self.model.seating.units:
            for path in unit.members:
                host = plan.placement.get(path)
                for seat in self.model.seating.seats.get((unit, host), ()):
                    if seat.place.way == plan.alternative.get(path, 0):
                        counts[seat] += 1
        self._keep(dict(counts), plan)

    def find_any(self):
        """Find a feasible plan, or prove that there is none."""
        return self.optimise(
            highs.qsum([]), ObjSense.kMinimize, self.budget.left()
        )

    def place_members(self):
        """Maximise the number of placed members.

        :returns: milp.Status; INFEASIBLE proves that there is no plan
        """
        optional = [s for s in self.model.seating if s.unit.optional]
        placed = variables.total(optional)
        status = milp.Status.OPTIMAL
        if not self._all_are_placed():
            status = self._place(placed, (2, 1) if optional else (1,))
        if self.plan is not None and optional:
            number = sum(self.counts.get(seat, 0) for seat in optional)
            self.model.row(placed >= number)
        return status

    def _all_are_placed(self):
        return bool(self.rank) and self.rank[0] == len(self.problem.class_of)

    def _place(self, placed, shares):
        # Half of the time is for the cost, unless there is no plan yet.
        for share in shares:
            seconds = self.budget.left() / share
            outcome = self.optimise(placed, ObjSense.kMaximize, seconds)
            if outcome.status is not milp.Status.UNKNOWN or self.rank:
                break
        self._note(outcome)
        return outcome.status

    def minimise_cost(self):
        """Minimise the soft cost, and prove a lower bound."""
        prices = {
            policy: violations.unit_cost(policy)
            for policy in self.problem.topology.policies
            if not policy.strict and policy.weight
        }
        if not prices:
            return
        is_least = True
        for tier in cost_levels.split(prices):
            proven = self._minimise_level(tier)
            if is_least:
                self.bound += proven
                is_least = proven == self._cost(tier)

    def _minimise_level(self, prices):
        """Minimise the cost of some policies, and fix it.

        :returns: proven lower bound of their cost, a Fraction
        """
        unit, slack = _unit(prices)
        cost = highs.qsum([])
        for policy, price in prices.items():
            if price / unit > milp.MIN_COEFFICIENT:
                breach = policy_rows.add_soft(self.model, policy)
                cost += breach * float(price / unit)
        proven = fractions.Fraction(0)
        if self._cost(prices):
            outcome = self._improve(cost, ObjSense.kMinimize)
            proven = self._cost(prices)
            if proven / unit - outcome.bound >= slack:
                proven = fractions.Fraction(max(0.0, outcome.bound)) * unit
        self.model.row(cost <= float(self._cost(prices) / unit) + slack)
        return proven

    def maximise_preference(self):
        """Maximise the sum of the operator's scores."""
        scores = {
            seat: seat.unit.member_class.scores.get(seat.place.host, 0)
            for seat in self.model.seating
        }
        unit = max(map(abs, scores.values()), default=0) / _LARGEST_SCORE
        if not unit:
            return
        scores = {
            seat: score / unit
            for seat, score in scores.items()
            if abs(score / unit) > milp.MIN_COEFFICIENT
        }
        preference = highs.qsum([s.column * n for s, n in scores.items()])
        self._improve(preference, ObjSense.kMaximize)
        reached = sum(scores.get(s, 0) * n for s, n in self.counts.items())
        self.model.row(preference >= reached - _EQUAL_SCORES)

    def optimise(self, objective, sense, seconds):
        """Optimise one objective; keep the plan unless it is worse.

        :param seconds: time limit
        :returns: milp.SolveResult
        :raises RuntimeError: a solution has a violation besides capacity
        """
        budget = time_budget.TimeBudget(seconds)
        seats = self.model.seating
        while True:
            self._suggest_plan()
            outcome = milp.run(seats.solver, objective, sense, budget.left())
            if outcome.status in (milp.Status.FOUND, milp.Status.UNKNOWN):
                self.budget.expire()
            if not outcome.values:
                return outcome
            counts = seats.read(outcome.values)
            plan = seats.plan(counts)
            faults = violations.find(self.problem, plan)
            if not faults:
                self._keep(counts, plan)
                return outcome
            for fault in faults:
                if fault.code != 'vrt.capacity':
                    raise RuntimeError(f'the model breaks a rule: {fault}')
                seats.forbid_crowd(fault.at, counts)

    def _improve(self, objective, sense):
        outcome = self.optimise(objective, sense, self.budget.left())
        self._note(outcome)
        return outcome

    def _suggest_plan(self):
        if self.plan is not None:
            columns = [seat.column.index for seat in self.model.seating]
            counts = [self.counts.get(seat, 0) for seat in self.model.seating]
            self.model.seating.solver.setSolution(
                len(columns), np.array(columns), np.array(counts)
            )

    def _keep(self, counts, plan):
        rank = violations.objective(self.problem, plan)
        if self.plan is None or rank >= self.rank:
            self.counts, self.plan, self.rank = counts, plan, rank

    def _note(self, outcome):
        if outcome.status is not milp.Status.OPTIMAL:
            self.is_proved = False

    def _cost(self, policies):
        costs = violations.costs(self.problem, self.plan.placement)
        return sum(
            costs.get(policy, fractions.Fraction(0)) for policy in policies
        )


def _unit(prices):
    """Return the unit of costs, and the tolerance for equal costs in it.

    All unit costs are whole multiples of the unit if they stay in range.

    :param prices: a level from cost_levels.split()
    """
    whole = cost_levels.unit(prices.values())
    least = cost_levels.steepest(prices) / cost_levels.LARGEST_PRICE
    return (whole, 0.5) if whole >= least else (least, 1e-3)

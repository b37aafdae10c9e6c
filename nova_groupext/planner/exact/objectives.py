# SPDX-License-Identifier: Apache-2.0
"""The lexicographic optimum: members, then cost, then preference.

Each step optimises one objective over what the steps before left open, and
fixes it. Every solution is read back as a plan and checked by the rules.
"""

import collections
import fractions

from highspy import ObjSense
from highspy import highs
import numpy as np

from nova_groupext.planner import clock as clocks
from nova_groupext.planner import rules
from nova_groupext.planner.exact import formulas
from nova_groupext.planner.exact import milp
from nova_groupext.planner.exact import model
from nova_groupext.planner.exact import seating
from nova_groupext.planner.exact import tiers

# Scores are scaled to at most 1000; what differs by less counts as equal.
_LARGEST_SCORE = 1_000
_EQUAL_SCORES = 1e-5


class Exact:
    """A problem on its way to the optimum.

    :ivar counts: seating.Seat -> members in it, of the best plan so far
    :ivar plan: the best rules.Plan so far, None if there is none
    :ivar rank: rules.rank() of it
    :ivar bound: proven least soft cost at this number placed, a Fraction
    :ivar is_proved: no step so far was cut short
    """

    def __init__(self, problem, clock):
        """Write the programme down.

        :param clock: clock.Clock
        :raises clock.OutOfTime: here and in any step, if writing takes longer
            than there is time
        """
        self.problem = problem
        self.clock = clock
        self.model = model.Model(problem, clock)
        self.counts = {}
        self.plan = None
        self.rank = ()
        self.bound = fractions.Fraction(0)
        self.is_proved = True
        for policy in problem.topology.policies:
            if policy.strict:
                formulas.demand(self.model, policy)

    def go_on(self, clock):
        """Have more time."""
        self.clock = self.model.seating.solver.clock = clock

    def start_from(self, plan):
        """Begin with a lawful plan instead of with none."""
        counts = collections.Counter()
        for unit in self.model.seating.units:
            for path in unit.members:
                host = plan.placement.get(path)
                for seat in self.model.seating.seats.get((unit, host), ()):
                    if seat.place.way == plan.alternative.get(path, 0):
                        counts[seat] += 1
        self._keep(dict(counts), plan)

    def find_any(self):
        """Find a lawful plan, or prove that there is none."""
        return self.optimise(
            highs.qsum([]), ObjSense.kMinimize, self.clock.left()
        )

    def place_members(self):
        """Place as many members as possible.

        :returns: milp.Status; INFEASIBLE proves that there is no plan
        """
        optional = [s for s in self.model.seating if s.unit.optional]
        placed = seating.total(optional)
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
        # Proving that no more fit must not use up the time the cost needs.
        for share in shares:
            seconds = self.clock.left() / share
            outcome = self.optimise(placed, ObjSense.kMaximize, seconds)
            if outcome.status is not milp.Status.UNKNOWN or self.rank:
                break
        self._note(outcome)
        return outcome.status

    def cut_cost(self):
        """Reduce the soft cost, and prove how far it can be reduced."""
        prices = {
            policy: rules.price(policy)
            for policy in self.problem.topology.policies
            if not policy.strict and policy.weight
        }
        if not prices:
            return
        is_least = True
        for tier in tiers.split(prices):
            proven = self._cut_tier(tier)
            if is_least:
                self.bound += proven
                is_least = proven == self._cost(tier)

    def _cut_tier(self, prices):
        """Reduce what some policies cost, and keep it there.

        :returns: their proven least cost, a Fraction
        """
        unit, slack = _unit(prices)
        cost = highs.qsum([])
        for policy, price in prices.items():
            if price / unit > milp.TINY:
                breach = formulas.charge(self.model, policy)
                cost += breach * float(price / unit)
        proven = fractions.Fraction(0)
        if self._cost(prices):
            outcome = self._improve(cost, ObjSense.kMinimize)
            proven = self._cost(prices)
            if proven / unit - outcome.bound >= slack:
                proven = fractions.Fraction(max(0.0, outcome.bound)) * unit
        self.model.row(cost <= float(self._cost(prices) / unit) + slack)
        return proven

    def raise_preference(self):
        """Raise the sum of the operator's scores."""
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
            if abs(score / unit) > milp.TINY
        }
        preference = highs.qsum([s.column * n for s, n in scores.items()])
        self._improve(preference, ObjSense.kMaximize)
        reached = sum(scores.get(s, 0) * n for s, n in self.counts.items())
        self.model.row(preference >= reached - _EQUAL_SCORES)

    def optimise(self, objective, sense, seconds):
        """Look for a better plan; keep it if there is one.

        :returns: milp.Outcome
        """
        clock = clocks.Clock(seconds)
        seats = self.model.seating
        while True:
            self._suggest_plan()
            outcome = milp.run(seats.solver, objective, sense, clock.left())
            if outcome.status in (milp.Status.FOUND, milp.Status.UNKNOWN):
                self.clock.strike()
            if not outcome.values:
                return outcome
            counts = seats.read(outcome.values)
            plan = seats.plan(counts)
            faults = rules.faults(self.problem, plan)
            if not faults:
                self._keep(counts, plan)
                return outcome
            for fault in faults:
                if fault.code != 'vrt.capacity':
                    raise RuntimeError(f'the model breaks a rule: {fault}')
                seats.forbid_crowd(fault.at, counts)

    def _improve(self, objective, sense):
        outcome = self.optimise(objective, sense, self.clock.left())
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
        rank = rules.rank(self.problem, plan)
        if self.plan is None or rank >= self.rank:
            self.counts, self.plan, self.rank = counts, plan, rank

    def _note(self, outcome):
        if outcome.status is not milp.Status.OPTIMAL:
            self.is_proved = False

    def _cost(self, policies):
        costs = rules.costs(self.problem, self.plan.placement)
        return sum(
            costs.get(policy, fractions.Fraction(0)) for policy in policies
        )


def _unit(prices):
    """What to measure prices in, and by how much less costs may differ.

    All prices are whole multiples of the unit, if that keeps them in range.

    :param prices: as tiers.split() gives them
    """
    whole = tiers.unit(prices.values())
    least = tiers.steepest(prices) / tiers.LARGEST_PRICE
    return (whole, 0.5) if whole >= least else (least, 1e-3)

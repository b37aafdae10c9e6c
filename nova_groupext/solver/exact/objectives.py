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
from nova_groupext.solver.exact import cuts
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import policy_rows
from nova_groupext.solver.exact import variables
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations

# Scores are scaled to at most 1000; smaller differences count as equal.
_MAX_SCORE = 1_000
_SCORE_TOLERANCE = 1e-5


class ExactSolver:
    """Exact optimisation of a problem, step by step, with an incumbent.

    :ivar counts: variables.Variable -> its value in the incumbent, if positive
    :ivar plan: incumbent violations.Plan, None before the first
    :ivar objective: violations.objective() of the incumbent, () before the
        first
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
        self.objective = ()
        self.bound = fractions.Fraction(0)
        self.is_proved = True
        self._cuts = cuts.Cuts(self.model)
        for policy in problem.topology.policies:
            if policy.strict:
                policy_rows.add_strict(self.model, policy)

    def extend_time(self, budget):
        """Replace the time budget."""
        self.budget = self.model.variables.solver.budget = budget

    def start_from(self, plan):
        """Make a feasible plan the incumbent, unless it is worse."""
        counts = collections.Counter()
        for eq_class in self.model.variables.eq_classes:
            for path in eq_class.members:
                host = plan.placement.get(path)
                for variable in self.model.variables.assignments.get(
                    (eq_class, host), ()
                ):
                    if variable.host_option.option == plan.alternative.get(
                        path, 0
                    ):
                        counts[variable] += 1
        self._update_incumbent(dict(counts), plan)

    def find_any(self):
        """Find a feasible plan, or prove that there is none."""
        return self.optimise(
            highs.qsum([]), ObjSense.kMinimize, self.budget.remaining()
        )

    def place_members(self):
        """Maximise the number of placed members.

        :returns: milp.Status; INFEASIBLE proves that there is no plan
        """
        optional = [
            variable
            for variable in self.model.variables
            if variable.eq_class.optional
        ]
        placed = variables.sum_columns(optional)
        status = milp.Status.OPTIMAL
        if not self._has_all_members():
            status = self._maximise_members(
                placed, (2, 1) if optional else (1,)
            )
        if self.plan is not None and optional:
            number = sum(self.counts.get(variable, 0) for variable in optional)
            self.model.add_row(placed >= number)
        return status

    def _has_all_members(self):
        return bool(self.objective) and self.objective[0] == len(
            self.problem.class_of
        )

    def _maximise_members(self, placed, shares):
        # Half of the time is for the cost, unless there is no plan yet.
        for share in shares:
            seconds = self.budget.remaining() / share
            result = self.optimise(placed, ObjSense.kMaximize, seconds)
            if result.status is not milp.Status.UNKNOWN or self.objective:
                break
        self._record_status(result)
        return result.status

    def minimise_cost(self):
        """Minimise the soft cost, and prove a lower bound."""
        unit_costs = {
            policy: policy.unit_cost
            for policy in self.problem.topology.policies
            if not policy.strict and policy.weight
        }
        if not unit_costs:
            return
        is_least = True
        for level in cost_levels.split(unit_costs):
            proven = self._minimise_level(level)
            if is_least:
                self.bound += proven
                is_least = proven == self._cost(level)

    def _minimise_level(self, unit_costs):
        """Minimise the cost of some policies, and fix it.

        :returns: proven lower bound of their cost, a Fraction
        """
        unit, tolerance = _unit(unit_costs)
        cost = highs.qsum([])
        for policy, unit_cost in unit_costs.items():
            if unit_cost / unit > milp.MIN_COEFFICIENT:
                if policy_rows.has_rows(policy):
                    violation = policy_rows.add_soft(self.model, policy)
                else:
                    violation = self._cuts.add_soft(policy)
                cost += violation * float(unit_cost / unit)
        proven = fractions.Fraction(0)
        if self._cost(unit_costs):
            result = self._improve(cost, ObjSense.kMinimize)
            proven = self._cost(unit_costs)
            if proven / unit - result.bound >= tolerance:
                proven = fractions.Fraction(max(0.0, result.bound)) * unit
        self.model.add_row(
            cost <= float(self._cost(unit_costs) / unit) + tolerance
        )
        return proven

    def maximise_preference(self):
        """Maximise the sum of the operator's scores."""
        scores = {
            variable: variable.eq_class.member_class.scores.get(
                variable.host_option.host, 0
            )
            for variable in self.model.variables
        }
        unit = max(map(abs, scores.values()), default=0) / _MAX_SCORE
        if not unit:
            return
        scores = {
            variable: score / unit
            for variable, score in scores.items()
            if abs(score / unit) > milp.MIN_COEFFICIENT
        }
        preference = highs.qsum(
            [variable.column * score for variable, score in scores.items()]
        )
        self._improve(preference, ObjSense.kMaximize)
        reached = sum(
            scores.get(variable, 0) * count
            for variable, count in self.counts.items()
        )
        self.model.add_row(preference >= reached - _SCORE_TOLERANCE)

    def optimise(self, expression, sense, seconds):
        """Optimise one objective; keep the plan unless it is worse.

        :param expression: linear expression, the objective
        :param seconds: time limit
        :returns: milp.SolveResult
        :raises RuntimeError: a solution has a violation besides capacity
        """
        budget = time_budget.TimeBudget(seconds)
        program = self.model.variables
        while True:
            self._suggest_plan()
            result = milp.run(
                program.solver, expression, sense, budget.remaining()
            )
            if result.status in (milp.Status.FOUND, milp.Status.UNKNOWN):
                self.budget.expire()
            if not result.values:
                return result
            counts = program.read(result.values)
            plan = program.plan(counts)
            if self._learn(plan, counts):
                continue
            self._update_incumbent(counts, plan)
            if not self._cuts.add_costs(plan, counts, result.values):
                return result

    def _learn(self, plan, counts):
        """Add cuts for the violations of a plan; return whether it has any."""
        violated = violations.find(self.problem, plan)
        if not violated:
            return False
        learned = {
            violations.of_policy(policy)
            for policy in self._cuts.add_violated(plan, counts)
        }
        for violation in violated:
            if violation.code == 'vrt.capacity':
                self.model.variables.add_no_good_cut(violation.at, counts)
            elif violation not in learned:
                raise RuntimeError(
                    f"the model's solution violates a policy: {violation}"
                )
        return True

    def _improve(self, expression, sense):
        result = self.optimise(expression, sense, self.budget.remaining())
        self._record_status(result)
        return result

    def _suggest_plan(self):
        if self.plan is not None:
            columns = [
                variable.column.index for variable in self.model.variables
            ]
            counts = [
                self.counts.get(variable, 0)
                for variable in self.model.variables
            ]
            self.model.variables.solver.setSolution(
                len(columns), np.array(columns), np.array(counts)
            )

    def _update_incumbent(self, counts, plan):
        objective = violations.objective(self.problem, plan)
        if self.plan is None or objective >= self.objective:
            self.counts, self.plan = counts, plan
            self.objective = objective

    def _record_status(self, result):
        if result.status is not milp.Status.OPTIMAL:
            self.is_proved = False

    def _cost(self, policies):
        costs = violations.costs(self.problem, self.plan.placement)
        return sum(
            costs.get(policy, fractions.Fraction(0)) for policy in policies
        )


def _unit(unit_costs):
    """Return the unit of costs, and the tolerance for equal costs in it.

    All unit costs are whole multiples of the unit if they stay in range.

    :param unit_costs: a level from cost_levels.split()
    """
    common_unit = cost_levels.common_unit(unit_costs.values())
    max_coefficient = cost_levels.max_coefficient(unit_costs)
    min_unit = max_coefficient / cost_levels.MAX_COEFFICIENT
    if common_unit >= min_unit:
        return common_unit, 0.5
    return min_unit, 1e-3

# SPDX-License-Identifier: Apache-2.0
"""The lexicographic optimum: members, then cost, then preference.

Members that stay where they are count before the cost if a problem says so.

Each step optimises one objective under the values reached before, and fixes
its own value. `violations` checks every solution as a plan.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import fractions
from typing import NamedTuple

from highspy import ObjSense
import numpy as np

from nova_groupext.solver.arrays import Floats
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.exact import cost_levels
from nova_groupext.solver.exact import cuts
from nova_groupext.solver.exact import domain_choices
from nova_groupext.solver.exact import expressions
from nova_groupext.solver.exact import member_counts
from nova_groupext.solver.exact import milp
from nova_groupext.solver.exact import policy_rows
from nova_groupext.solver.exact import preference_levels
from nova_groupext.solver.exact.cost_levels import UnitCosts
from nova_groupext.solver.exact.expressions import Expression
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import tools

# Differences of scaled scores that count as equal.
_SCORE_TOLERANCE = 1e-5


class Solution(NamedTuple):
    """Solution of a program: a plan, and its value of every objective."""

    plan: violations.Plan
    counts: Ints
    objective: violations.Objective


class ExactSolver:
    """Exact optimisation of a problem, step by step, with an incumbent.

    :ivar bound: proven least soft cost at this number placed and kept
    :ivar is_proved: whether every step so far is proved optimal
    :ivar has_most_members: whether it is proved that no plan has more members
    """

    def __init__(
        self, problem: problems.Problem, budget: time_budget.TimeBudget
    ) -> None:
        """Build the program with all strict policies.

        :raises OutOfTime: here and in any step that adds rows or columns
        """
        self.problem = problem
        self.budget = budget
        self.model = member_counts.Model(problem, budget)
        self.bound = fractions.Fraction(0)
        self.is_proved = True
        self.has_most_members = False
        self._incumbent: Solution | None = None
        self._cuts = cuts.Cuts(self.model)
        self._add_strict_policies()

    def _add_strict_policies(self) -> None:
        policies = [p for p in self.problem.topology.policies if p.strict]
        binding = [
            each
            for each in policies
            if domain_choices.is_binding(self.model, each)
        ]
        for group in domain_choices.colocation_groups(self.problem, binding):
            domain_choices.add_choice(self.model, group)
        for policy in policies:
            if policy not in binding:
                policy_rows.add_strict(self.model, policy)

    @property
    def incumbent(self) -> Solution:
        """Best solution so far.

        :raises RuntimeError: before the first
        """
        if self._incumbent is None:
            raise RuntimeError('the program has no solution yet')
        return self._incumbent

    @property
    def plan(self) -> violations.Plan | None:
        """Best plan so far, None before the first."""
        return self._incumbent and self._incumbent.plan

    def extend_time(self, budget: time_budget.TimeBudget) -> None:
        """Replace the time budget."""
        self.budget = self.model.variables.solver.budget = budget

    def start_from(self, plan: violations.Plan) -> None:
        """Make a feasible plan the incumbent, unless it is worse."""
        program = self.model.variables
        counts = np.zeros(len(program), np.int64)
        for number, eq_class in enumerate(program.eq_classes):
            placed = collections.Counter(
                (plan.placement[path], plan.alternative.get(path, 0))
                for path in eq_class.members
                if path in plan.placement
            )
            for (host, option), count in placed.items():
                variable = program.find(number, host, option)
                if variable is not None:
                    counts[variable] = count
        self._update_incumbent(counts, plan)

    def find_any(
        self, *, keeps_current: bool = False, proof: Proof = Proof.CONFIRMED
    ) -> milp.SolveResult:
        """Find a feasible plan, or prove that there is none.

        :param keeps_current: whether to keep members on their current hosts
        :param proof: need of a proof that there is none
        """
        kept = Expression()
        if keeps_current:
            kept = self.model.variables.total(self.model.variables.current)
        return self.optimise(
            *(kept, ObjSense.kMaximize, self.budget), proof=proof
        )

    def place_members(self) -> milp.Status:
        """Maximise the number of placed members.

        :returns: INFEASIBLE proves that there is no plan
        """
        optional = self.model.variables.optional
        placed = self.model.variables.total(optional)
        status = milp.Status.OPTIMAL
        if not self._has_all_members():
            status = self._maximise_members(
                placed, (2, 1) if len(optional) else (1,)
            )
        self.has_most_members = status is milp.Status.OPTIMAL
        if self._incumbent is not None and len(optional):
            number = int(self._incumbent.counts[optional].sum())
            self.model.add_row(placed >= number)
        return status

    def _has_all_members(self) -> bool:
        return (
            self._incumbent is not None
            and self._incumbent.objective.members == len(self.problem.class_of)
        )

    def _maximise_members(
        self, placed: Expression, shares: Iterable[int]
    ) -> milp.Status:
        # Half of the time is for the cost, unless there is no plan yet.
        for share in shares:
            budget = self.budget.slice(self.budget.remaining() / share)
            result = self.optimise(placed, ObjSense.kMaximize, budget)
            if result.status is not milp.Status.UNKNOWN or self._incumbent:
                break
        self._record_status(result)
        return result.status

    def steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the steps with their names, in their order."""
        yield 'members', self.place_members
        if self.problem.keeps_current:
            yield 'changes', self.keep_members
        yield 'cost', self.minimise_cost
        yield 'preference', self.maximise_preference

    def keep_members(self) -> None:
        """Maximise the number of members on their current host."""
        own = self.model.variables.current
        kept = self.model.variables.total(own)
        if self.incumbent.objective.kept:
            self._improve(kept, ObjSense.kMaximize)
        number = int(self.incumbent.counts[own].sum())
        self.model.add_row(kept >= number)

    def minimise_cost(self) -> None:
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

    def _minimise_level(self, unit_costs: UnitCosts) -> fractions.Fraction:
        """Minimise the cost of some policies, and fix it.

        :returns: proven lower bound of their cost
        """
        unit, tolerance = _unit(unit_costs)
        terms = []
        for policy, unit_cost in unit_costs.items():
            if unit_cost / unit > milp.MIN_COEFFICIENT:
                terms.append(self._violation(policy) * float(unit_cost / unit))
        cost = expressions.total(terms)
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

    def _violation(self, policy: base.Policy) -> tools.Expression:
        """Return an expression of a soft policy's violation."""
        if policy_rows.has_rows(policy):
            return policy_rows.add_soft(self.model, policy)
        return self._cuts.add_soft(policy)

    def maximise_preference(self) -> None:
        """Maximise the sum of the operator's scores."""
        for scores in preference_levels.split(
            self.model.variables.scores(), len(self.problem.class_of)
        ):
            self._maximise_level(scores)

    def _maximise_level(self, scores: Floats) -> None:
        """Maximise the sum of some scores, and fix it."""
        scored = np.flatnonzero(np.abs(scores) > milp.MIN_COEFFICIENT)
        preference = self.model.variables.total(scored, scores[scored])
        self._improve(preference, ObjSense.kMaximize)
        reached = float(scores[scored] @ self.incumbent.counts[scored])
        self.model.add_row(preference >= reached - _SCORE_TOLERANCE)

    def optimise(
        self,
        expression: Expression,
        sense: ObjSense,
        budget: time_budget.TimeBudget,
        *,
        proof: Proof = Proof.CONFIRMED,
    ) -> milp.SolveResult:
        """Optimise one objective; keep the plan unless it is worse.

        :param expression: the objective
        :param proof: see milp.run()
        :raises RuntimeError: a solution has a violation besides capacity
        """
        program = self.model.variables
        while True:
            self._suggest_plan()
            result = milp.run(
                *(program.solver, expression, sense, budget),
                proof=proof,
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

    def _learn(self, plan: violations.Plan, counts: Ints) -> bool:
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

    def _improve(
        self, expression: Expression, sense: ObjSense
    ) -> milp.SolveResult:
        result = self.optimise(expression, sense, self.budget)
        self._record_status(result)
        return result

    def _suggest_plan(self) -> None:
        if self._incumbent is not None:
            self.model.variables.suggest(self._incumbent.counts)

    def _update_incumbent(self, counts: Ints, plan: violations.Plan) -> None:
        objective = violations.objective(self.problem, plan)
        incumbent = self._incumbent
        if incumbent is None or objective >= incumbent.objective:
            self._incumbent = Solution(plan, counts, objective)

    def _record_status(self, result: milp.SolveResult) -> None:
        if result.status is not milp.Status.OPTIMAL:
            self.is_proved = False

    def _cost(self, policies: Iterable[base.Policy]) -> fractions.Fraction:
        placement = self.incumbent.plan.placement
        costs = violations.costs(self.problem, placement)
        zero = fractions.Fraction(0)
        return sum((costs.get(policy, zero) for policy in policies), zero)


class _Unit(NamedTuple):
    """Unit of costs, and the tolerance for equal costs in it."""

    size: fractions.Fraction
    tolerance: float


def _unit(unit_costs: UnitCosts) -> _Unit:
    """Return the unit of some costs.

    All unit costs are whole multiples of the unit if they stay in range.

    :param unit_costs: a level from cost_levels.split()
    """
    common_unit = cost_levels.common_unit(unit_costs.values())
    max_coefficient = cost_levels.max_coefficient(unit_costs)
    min_unit = max_coefficient / cost_levels.MAX_COEFFICIENT
    if common_unit >= min_unit:
        return _Unit(common_unit, 0.5)
    return _Unit(min_unit, 1e-3)

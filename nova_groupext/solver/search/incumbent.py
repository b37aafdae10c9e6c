# SPDX-License-Identifier: Apache-2.0
"""Incumbent: the best plan so far, and its proven bound."""

import fractions
import functools

from nova_groupext.solver import bounds
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import preference_bound


class Incumbent:
    """Best feasible plan so far, which only a better one replaces.

    :ivar bound: proven least soft cost at the number placed and kept
    :ivar members_bound: number of members that no plan exceeds, with those of
        other groups; None if all have to come
    """

    def __init__(
        self, problem: problems.Problem, plan: violations.Plan
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.objective = violations.objective(problem, plan)
        self.bound = fractions.Fraction(0)
        self.members_bound: int | None = None
        if any(s.min_count < s.count for s in problem.topology.member_sets):
            self.members_bound = bounds.count_members(problem)

    @property
    def cost(self) -> fractions.Fraction:
        """Exact soft cost."""
        return -self.objective.saving

    @property
    def has_most_members(self) -> bool:
        """True if no plan can have more members."""
        return self.objective.members == self.members_bound

    @property
    def is_perfect(self) -> bool:
        """True if all members are placed, and stay, at no cost."""
        members = self.objective.members
        return (
            not self.cost
            and members == len(self.problem.class_of)
            and not self.objective.kept
        )

    @property
    def is_best(self) -> bool:
        """True if no plan can be better, also by the operator's scores."""
        return (
            self.is_perfect
            and self.objective.preference == self._best_preference
        )

    @functools.cached_property
    def _best_preference(self) -> fractions.Fraction:
        return preference_bound.find(self.problem)

    def offer(self, plan: violations.Plan) -> bool:
        """Replace the plan if another is better; return whether it is."""
        objective = violations.objective(self.problem, plan)
        is_better = objective > self.objective
        if is_better:
            self.replace(plan, objective, fractions.Fraction(0))
        return is_better

    def replace(
        self,
        plan: violations.Plan,
        objective: violations.Objective,
        bound: fractions.Fraction,
    ) -> None:
        """Replace the plan with one at least as good.

        :param bound: proven least soft cost at the number that it places and
            keeps
        """
        if objective[:2] == self.objective[:2]:
            bound = max(bound, self.bound)
        self.plan, self.objective, self.bound = plan, objective, bound

    def answer(
        self, problem: problems.Problem, stats: answer_parts.Stats
    ) -> answers.Answer:
        """Return the plan as an answer.

        :param problem: the problem as described, policies not merged
        """
        if self.members_bound is not None:
            own = self.members_bound - len(problem.outsiders)
            stats = {**stats, 'members_bound': own}
        return answers.placed(problem, self.plan, self.bound, stats)

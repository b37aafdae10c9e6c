# SPDX-License-Identifier: Apache-2.0
"""Incumbent: the best plan so far, and its proven bound."""

import fractions

from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations


class Incumbent:
    """Best feasible plan so far, which only a better one replaces.

    :ivar bound: proven least soft cost at the number placed and kept
    """

    def __init__(
        self, problem: problems.Problem, plan: violations.Plan
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.objective = violations.objective(problem, plan)
        self.bound = fractions.Fraction(0)

    @property
    def cost(self) -> fractions.Fraction:
        """Exact soft cost."""
        return -self.objective.saving

    @property
    def is_perfect(self) -> bool:
        """True if all members are placed, and stay, at no cost."""
        members = self.objective.members
        return (
            not self.cost
            and members == len(self.problem.class_of)
            and not self.objective.kept
        )

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
        return answers.placed(problem, self.plan, self.bound, stats)

# SPDX-License-Identifier: Apache-2.0
"""Incumbent: the best plan so far, and its proven bound."""

import fractions

from nova_groupext.solver.model import answers
from nova_groupext.solver.model import violations


class Incumbent:
    """Best feasible plan so far, which only a better one replaces.

    :ivar plan: violations.Plan
    :ivar objective: its violations.objective(), a vector to be maximised
    :ivar bound: proven least soft cost at the number placed, a Fraction
    """

    def __init__(self, problem, plan):
        self.problem = problem
        self.plan = plan
        self.objective = violations.objective(problem, plan)
        self.bound = fractions.Fraction(0)

    @property
    def cost(self):
        """Exact soft cost, a Fraction."""
        return -self.objective[1]

    @property
    def is_perfect(self):
        """True if all members are placed at no cost."""
        return not self.cost and self.objective[0] == len(
            self.problem.class_of
        )

    def offer(self, plan):
        """Replace the plan if another is better; return whether it is."""
        objective = violations.objective(self.problem, plan)
        is_better = objective > self.objective
        if is_better:
            self.replace(plan, objective, fractions.Fraction(0))
        return is_better

    def replace(self, plan, objective, bound):
        """Replace the plan with one at least as good.

        :param bound: proven least soft cost at the number that it places
        """
        if objective[0] == self.objective[0]:
            bound = max(bound, self.bound)
        self.plan, self.objective, self.bound = plan, objective, bound

    def answer(self, problem, stats):
        """Return the plan as answers.Answer.

        :param problem: problems.Problem as described, policies not merged
        """
        return answers.placed(problem, self.plan, self.bound, stats)

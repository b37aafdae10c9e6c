# SPDX-License-Identifier: Apache-2.0
"""Incumbent: the best plan so far, and its proven bound."""

import fractions

from nova_groupext.solver.model import answers
from nova_groupext.solver.policies import violations


class Incumbent:
    """Best feasible plan so far, which only a better one replaces.

    :ivar plan: violations.Plan
    :ivar rank: its violations.objective(), a vector to be maximised
    :ivar bound: proven least soft cost at the number placed, a Fraction
    """

    def __init__(self, problem, plan):
        self.problem = problem
        self.plan = plan
        self.rank = violations.objective(problem, plan)
        self.bound = fractions.Fraction(0)

    @property
    def cost(self):
        """Exact soft cost, a Fraction."""
        return -self.rank[1]

    @property
    def is_perfect(self):
        """True if all members are placed at no cost."""
        return not self.cost and self.rank[0] == len(self.problem.class_of)

    def offer(self, plan):
        """Replace the plan if another is better; return whether it is."""
        rank = violations.objective(self.problem, plan)
        is_better = rank > self.rank
        if is_better:
            self.take(plan, rank, fractions.Fraction(0))
        return is_better

    def take(self, plan, rank, bound):
        """Replace the plan with one at least as good.

        :param bound: proven least soft cost at the number that it places
        """
        if rank[0] == self.rank[0]:
            bound = max(bound, self.bound)
        self.plan, self.rank, self.bound = plan, rank, bound

    def answer(self, problem, stats):
        """Return the plan as answers.Answer.

        :param problem: problems.Problem as described, policies not merged
        """
        return answers.placed(problem, self.plan, self.bound, stats)

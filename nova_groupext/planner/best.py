# SPDX-License-Identifier: Apache-2.0
"""The best plan so far and what is proved about it."""

import fractions

from nova_groupext.planner import answer
from nova_groupext.planner import rules


class Best:
    """Starts with a lawful plan, and only ever gets better.

    :ivar plan: rules.Plan
    :ivar rank: rules.rank() of it
    :ivar bound: proven least soft cost at the number placed, a Fraction
    """

    def __init__(self, problem, plan):
        self.problem = problem
        self.plan = plan
        self.rank = rules.rank(problem, plan)
        self.bound = fractions.Fraction(0)

    @property
    def cost(self):
        """Exact soft cost."""
        return -self.rank[1]

    @property
    def is_perfect(self):
        """All are placed at no cost."""
        return not self.cost and self.rank[0] == len(self.problem.class_of)

    def offer(self, plan):
        """Take a lawful plan if it is better; gives whether it is."""
        rank = rules.rank(self.problem, plan)
        is_better = rank > self.rank
        if is_better:
            self.take(plan, rank, fractions.Fraction(0))
        return is_better

    def take(self, plan, rank, bound):
        """Take a plan that is at least as good, and what is proved of it.

        :param bound: proven least soft cost at the number that it places
        """
        if rank[0] == self.rank[0]:
            bound = max(bound, self.bound)
        self.plan, self.rank, self.bound = plan, rank, bound

    def answer(self, problem, stats):
        """It as answer.Answer.

        :param problem: problem.Problem as it was described
        """
        return answer.placed(problem, self.plan, self.bound, stats)

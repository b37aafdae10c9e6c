# SPDX-License-Identifier: Apache-2.0
"""Is there any lawful plan at all?

Attempts come first: they take milliseconds. What they leave out is repaired
by small exact programmes; and in turn the exact programme is asked with a few
hosts for each unit, other ones each time. Only the programme with all hosts
proves that there is no plan.
"""

import dataclasses

from nova_groupext.planner import ask
from nova_groupext.planner import repair
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import greedy

Verdict = ask.Verdict

# Attempts at first, and in each round.
_FIRST_ATTEMPTS = 4
_ATTEMPTS = 4

# Seats up to which the programme with all hosts is asked at once.
SMALL = 3_000

# Rounds of repair, programme and attempts, and their share of the time.
_ROUNDS = 24
_SHARE = 0.7

# Rounds in which the programme with all hosts is asked, and the share of the
# time left that it gets; the others ask with some hosts for some seconds.
_FULL = (2, 8)
_FULL_SHARE = 0.2
_SLICE = 2.0

# How many times more hosts than needed are asked at first, and at most.
_WIDTH = 2.0
_MOST_WIDTH = 8.0


def find(problem, clock):
    """Look for any lawful plan.

    :param problem: problem.Problem
    :param clock: clock.Clock
    :returns: ask.Verdict
    """
    if not problem.hosts or len(problem.pinned) == len(problem.class_of):
        return ask.ask(problem, clock)
    search = _Search(problem, clock)
    verdict = search.attempt(_FIRST_ATTEMPTS)
    if verdict.plan is None and search.attempts.seats > SMALL:
        verdict = search.go_round()
    if verdict.plan is None and not verdict.is_impossible and clock.left():
        verdict = ask.ask(problem, clock)
    return verdict


class _Search:
    """Looks for a plan, in turn in all ways."""

    def __init__(self, problem, clock):
        self.problem = problem
        self.clock = clock
        self.attempts = greedy.Greedy(problem)
        self._width = _WIDTH

    def go_round(self):
        """Repair, ask and attempt, for a share of the time."""
        whole = self.clock
        self.clock = whole.slice(whole.left() * _SHARE)
        verdict = ask.Verdict()
        for number in range(_ROUNDS):
            for step in (
                self._repair,
                self._ask,
                self._attempt,
            ):
                verdict = step(number)
                is_out = not self.clock.left()
                if verdict.plan is not None or verdict.is_impossible or is_out:
                    return verdict
        return verdict

    def attempt(self, most):
        """The first plan of some attempts; every other heeds soft policies."""
        for number in range(most):
            plan = self.attempts.attempt(heeds_soft=number % 2 == 0)
            if plan is not None or not self.clock.left():
                break
        return ask.Verdict(plan, stage='greedy')

    def _attempt(self, _number):
        return self.attempt(_ATTEMPTS)

    def _repair(self, _number):
        plan = repair.run(self.attempts, self.clock)
        # The next attempts are compared with one another only.
        self.attempts.most = None
        return ask.Verdict(plan, stage='repair')

    def _ask(self, number):
        if number in _FULL:
            share = self.clock.slice(self.clock.left() * _FULL_SHARE)
            return ask.ask(self.problem, share)
        hosts = self.attempts.pick_hosts(self._width)
        part = subproblem.on_hosts(self.problem, hosts)
        verdict = ask.ask(part, self.clock.slice(_SLICE))
        if verdict.is_impossible:
            # Of these hosts; more may do, up to all of them.
            self._width = min(_MOST_WIDTH, self._width * 1.5)
        return dataclasses.replace(
            verdict, is_impossible=False, stage='restricted'
        )

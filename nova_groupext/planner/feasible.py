# SPDX-License-Identifier: Apache-2.0
"""Is there any lawful plan at all?

Attempts come first: they take milliseconds. What they leave out is repaired
by small exact programmes; and in turn the exact programme is asked with a few
hosts for each unit, other ones each time. Only the programme with all hosts
proves that there is no plan.
"""

import collections
import dataclasses
import itertools

from nova_groupext.planner import ask
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import greedy
from nova_groupext.planner.repair import repairs

# Attempts at first, and in each round.
_ATTEMPTS = 4

# Share of the time left that one attempt may take, and seconds that it may
# take in any case.
_ATTEMPT_SHARE = 0.3
_ATTEMPT = 0.5

# Seats up to which an attempt takes less than a look for proofs, and those up
# to which there is time to heed soft policies.
_QUICK = 20_000
_LARGE = 100_000

# Seats up to which the programme with all hosts is asked at once, and for how
# many seconds.
SMALL = 3_000
_AT_ONCE = 0.5

# Share of the time for rounds of repair, programme and attempts, if there is
# time to ask the programme with all hosts after them.
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
    return Search(problem, clock).find()


def complete(problem, plan, clock, share):
    """Look for a plan that is made from another, not for a proof.

    Some attempts come first: they take less time than moving many.

    :param problem: problem.Problem
    :param plan: rules.Plan of some of its members, lawful as far as it goes
    :param clock: clock.Clock
    :param share: what may be used up of the time that is left when all is
        ready
    :returns: rules.Plan or None; a small problem is left to find()
    """
    if not problem.hosts or not problem.class_of.keys() - plan.placement:
        return None
    finder = greedy.Greedy(problem)
    if finder.seats <= SMALL:
        return None
    for _ in range(_ATTEMPTS):
        found = finder.attempt(heeds_soft=False, clock=clock)
        if found is not None or not clock.left():
            return found
    missing = collections.defaultdict(list)
    for member in problem.topology.members:
        if member.path not in plan.placement:
            missing[member.stem].append(member.path)
    finder.most = plan, list(missing.values())
    return repairs.Repairs(finder).run(clock.slice(clock.left() * share))


class Search:
    """Looks for a plan, in turn in all ways.

    :ivar attempts: greedy.Greedy, None if there is nobody or nowhere to seat
    """

    def __init__(self, problem, clock):
        self.problem = problem
        self.clock = clock
        self.attempts = None
        if problem.hosts and problem.movable:
            self.attempts = greedy.Greedy(problem)
            self._repairs = repairs.Repairs(self.attempts)
        self._width = _WIDTH

    def try_once(self):
        """What a single attempt comes to, where that is quick.

        It heeds no soft policy: whoever has a plan can still improve it.
        """
        if self.attempts is None or self.attempts.seats > _QUICK:
            return ask.Verdict()
        plan = self.attempts.attempt(False, self._share())
        return ask.Verdict(plan, stage='greedy')

    def find(self):
        """Look until there is a verdict or the time is over."""
        if self.attempts is None:
            return ask.ask(self.problem, self.clock)
        verdict = self._attempt()
        for step in (self._ask_at_once, self._go_round, self._ask_all):
            if verdict.plan is None and not verdict.is_impossible:
                verdict = step(self.clock)
        return dataclasses.replace(verdict, closest=self._repairs.closest)

    def _ask_at_once(self, clock):
        """Ask with all hosts where that mostly takes little time."""
        if self.attempts.seats > SMALL:
            return ask.Verdict()
        return self._ask_all(clock.slice(_AT_ONCE))

    def _ask_all(self, clock):
        if ask.has_time_for(self.attempts.seats, clock):
            return ask.ask(self.problem, clock)
        return ask.Verdict()

    def _go_round(self, clock):
        """Repair, ask and attempt, for a share of the time."""
        rest = clock.slice(clock.left() * (1 - _SHARE))
        if ask.has_time_for(self.attempts.seats, rest):
            clock = clock.slice(clock.left() * _SHARE)
        for number in itertools.count():
            for verdict in self._steps(number, clock):
                if verdict.plan is not None or verdict.is_impossible:
                    return verdict
            if not clock.left():
                return ask.Verdict()

    def _steps(self, number, clock):
        yield self._repair(clock)
        yield self._ask(number, clock)
        yield self._attempt()

    def _attempt(self):
        """The first plan of some attempts; every other heeds soft policies.

        Where that takes longer the first ones are those that do not, and
        where it takes long all are.
        """
        seats = self.attempts.seats
        for number in range(_ATTEMPTS):
            heeds_soft = seats <= _LARGE and number % 2 == (seats > _QUICK)
            plan = self.attempts.attempt(heeds_soft, self._share())
            if plan is not None or not self.clock.left():
                break
        return ask.Verdict(plan, stage='greedy')

    def _share(self):
        """A Clock for one attempt: a late plan is better than none."""
        seconds = max(_ATTEMPT, self.clock.left() * _ATTEMPT_SHARE)
        return clocks.Clock(seconds, self.clock)

    def _repair(self, clock):
        plan = self._repairs.run(clock)
        # The next attempts are compared with one another only.
        self.attempts.most = None
        return ask.Verdict(plan, stage='repair')

    def _ask(self, number, clock):
        if number in _FULL:
            share = clock.slice(clock.left() * _FULL_SHARE)
            return self._ask_all(share)
        hosts = self.attempts.pick_hosts(self._width)
        part = subproblem.on_hosts(self.problem, hosts)
        verdict = ask.ask(part, clock.slice(_SLICE))
        if verdict.is_impossible:
            # Of these hosts; more may do, up to all of them.
            self._width = min(_MOST_WIDTH, self._width * 1.5)
        return dataclasses.replace(
            verdict, is_impossible=False, stage='restricted'
        )

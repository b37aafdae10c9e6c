# SPDX-License-Identifier: Apache-2.0
"""Room for those that an attempt left out.

One after the other they are put back, where the exact programme finds room
for them together with those who sit on the same hosts, while all others stay
where they are.
"""

import collections

import numpy as np

from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import setting as settings

# Seconds for one programme.
_SLICE = 2.0

# Neighbourhoods that are tried for the same members.
_TRIES = 8

# How often they are tried again after the others.
_ROUNDS = 2

# Members under one policy up to which all may move if one of them comes in.
_FEW = 60

# How many times more hosts than needed are looked at: for those that come
# in, and for those who make room.
_WIDTH = 2.0


def run(problem, most, clock):
    """Complete a plan.

    :param problem: problem.Problem
    :param most: a rules.Plan, lawful as far as it goes, and lists of the paths
        of members that come in together; or None
    :param clock: clock.Clock
    :returns: a lawful plan, or None
    """
    if most is None:
        return None
    plan, missing = most
    repair = _Repair(problem)
    waiting = collections.deque(sorted(missing, key=len, reverse=True))
    failures = 0
    while waiting and failures < _ROUNDS * len(waiting):
        coming = waiting.popleft()
        absent = {path for paths in waiting for path in paths}
        found = repair.bring_in(plan, set(coming), absent, clock)
        if found is None:
            waiting.append(coming)
            failures += 1
        plan = found or plan
    if waiting or rules.faults(problem, plan):
        return None
    return plan


class _Repair:
    """Brings members into a plan, a few at a time."""

    def __init__(self, problem):
        self.problem = problem
        self._random = np.random.default_rng(problem.seed)
        empty = settings.Setting(problem)
        self._scout = scout.Scout(empty, self._random)

    def bring_in(self, plan, coming, absent, clock):
        """The plan with some more members, None if no room is found."""
        smaller = subproblem.without(self.problem, absent)
        for turn in range(_TRIES):
            if not clock.left():
                break
            moving = self._related(coming) if turn % 2 else coming
            width = _WIDTH * (1 + turn / 4)
            found = self._try(smaller, plan, moving, width, clock)
            if found is not None:
                return found
        return None

    def _try(self, smaller, plan, coming, width, clock):
        from nova_groupext.planner.exact import objectives

        targets = {
            host
            for unit, hosts in self._scout.pick(width).items()
            if not coming.isdisjoint(unit.members)
            for host in hosts
        }
        moving = coming | {
            path for path, host in plan.placement.items() if host in targets
        }
        moving -= self.problem.pinned.keys()
        around = subproblem.around(smaller, plan, moving)
        part = subproblem.on_hosts(
            around, self._hosts(around, plan, moving, targets)
        )
        exact = objectives.Exact(part, clock.slice(_SLICE))
        exact.find_any()
        if exact.plan is None:
            return None
        return subproblem.back(plan, exact.plan)

    def _related(self, coming):
        """The same and those under the same strict policies, if few."""
        related = set(coming)
        for policy in self.problem.topology.policies:
            paths = frozenset().union(*policy.sides)
            if policy.strict and len(paths) <= _FEW and paths & coming:
                related |= paths
        return related - self.problem.pinned.keys()

    def _hosts(self, around, plan, moving, targets):
        setting = settings.Setting(around)
        picked = scout.Scout(setting, self._random).pick(_WIDTH)
        now = {plan.placement[path] for path in moving & plan.placement.keys()}
        return {
            unit: {*hosts, *targets, *now} for unit, hosts in picked.items()
        }

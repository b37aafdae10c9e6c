# SPDX-License-Identifier: Apache-2.0
"""Room for those that an attempt left out.

One after the other they are put back, where the exact programme finds room
for them together with those who sit on the same hosts, while all others stay
where they are.
"""

import collections

import numpy as np

from nova_groupext.planner import ask
from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import seated

# Seconds for one programme.
_SLICE = 0.5

# Seats up to which a programme is worth it: a larger one takes too long.
_MOST_SEATS = 4_000

# Neighbourhoods that are tried for the same members.
_TRIES = 6

# How often they are tried again after the others.
_ROUNDS = 1

# Members under one policy up to which all may move if one of them comes in.
_FEW = 40

# How many times more hosts than needed are looked at: for those that come
# in, and for those who make room.
_WIDTH = 2.0


def run(attempts, clock):
    """Complete the best of some attempts.

    :param attempts: greedy.Greedy
    :param clock: clock.Clock
    :returns: a lawful plan, or None
    """
    if attempts.most is None:
        return None
    plan, missing = attempts.most
    repair = _Repair(attempts, plan)
    waiting = collections.deque(sorted(missing, key=len, reverse=True))
    failures = 0
    while waiting and failures < _ROUNDS * len(waiting):
        coming = waiting.popleft()
        absent = {path for paths in waiting for path in paths}
        if not repair.bring_in(set(coming), absent, clock):
            waiting.append(coming)
            failures += 1
    if waiting or rules.faults(attempts.problem, repair.plan):
        return None
    return repair.plan


class _Repair:
    """Brings members into a plan, a few at a time."""

    def __init__(self, attempts, plan):
        self.problem = attempts.problem
        self.plan = plan
        self._attempts = attempts
        self._seated = seated.Seated(self.problem, plan)
        few = [
            policy
            for policy in self.problem.topology.policies
            if policy.strict and len(_covered(policy)) <= _FEW
        ]
        self._ties = [_covered(policy) for policy in few]
        self._bonds = [
            _covered(policy)
            for policy in few
            if policy.type in ('affinity', 'network-proximity')
        ]
        self._seated.setting.learn(attempts.setting)
        self._scout = scout.Scout(
            self._seated.setting, np.random.default_rng(self.problem.seed)
        )

    def bring_in(self, coming, absent, clock):
        """Bring some more members into the plan; gives whether they are."""
        smaller = subproblem.without(self.problem, absent)
        related = _related(self._ties, coming) - absent
        pinned = self.problem.pinned.keys()
        width = _WIDTH
        for turn in range(_TRIES):
            moving = (related if turn % 2 else coming) - pinned
            some_time = clock.slice(_SLICE)
            # Those that share a domain can only leave it together.
            bonds = self._bonds if turn % 3 else []
            found = self._try(smaller, moving, bonds, width, some_time)
            if found.plan is not None:
                self.plan = found.plan
                self._seated.change_to(found.plan)
                return True
            if not clock.left():
                break
            # Where there is no room more hosts may help; where no time, less.
            width *= 1.3 if found.is_impossible else 0.7
        return False

    def _try(self, smaller, coming, bonds, width, clock):
        """Look for a plan with some more members."""
        plan = self.plan
        targets = self._find_targets(coming, width)
        evicted = {
            path for path, host in plan.placement.items() if host in targets
        }
        evicted = _related(bonds, evicted) & plan.placement.keys()
        moving = (coming | evicted) - self.problem.pinned.keys()
        around = subproblem.around(smaller, plan, moving)
        hosts = self._hosts(moving, targets)
        if sum(map(len, hosts.values())) > _MOST_SEATS:
            return ask.Verdict()
        part = subproblem.on_hosts(around, hosts)
        verdict = ask.ask(part, clock)
        if verdict.plan is None:
            return verdict
        return ask.Verdict(subproblem.back(plan, verdict.plan))

    def _find_targets(self, coming, width):
        """Hosts on which they would fit, were they the only ones."""
        wanted = {
            unit: len(coming.intersection(unit.members))
            for unit in self._attempts.setting.units
            if not coming.isdisjoint(unit.members)
        }
        picked = self._attempts.pick_hosts(width, wanted)
        return {host for hosts in picked.values() for host in hosts}

    def _hosts(self, moving, targets):
        """Where the moving members may go, by unit."""
        placement = self.plan.placement
        names = self._seated.setting.board.hosts
        hosts = {}
        with self._seated.lifted(moving) as standing:
            picked = self._scout.pick(standing, _WIDTH)
            for unit, part in self._seated.parts(moving).items():
                open_ = self._seated.setting.hosts(unit)
                hosts[part] = targets.intersection(names[h] for h in open_)
                hosts[part].update(picked[unit])
                hosts[part].update(
                    placement[p] for p in part.members if p in placement
                )
        return hosts


def _covered(policy):
    return frozenset().union(*policy.sides)


def _related(groups, paths):
    """Some members and all that share a group with one of them."""
    return paths.union(*(g for g in groups if not g.isdisjoint(paths)))

# SPDX-License-Identifier: Apache-2.0
"""Who is put back after an attempt, until nobody waits any more."""

import collections
import contextlib

import numpy as np

from nova_groupext.planner import ask
from nova_groupext.planner import clock as clocks
from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import seated
from nova_groupext.planner.repair import crowds
from nova_groupext.planner.repair import eject

# Seconds for one programme.
_SLICE = 0.5

# Seats up to which a programme is worth it: a larger one takes too long.
_MOST_SEATS = 4_000

# The same for a programme with all hosts for those who come in.
_FEW_SEATS = 1_000

# How often that may be in vain.
_MOST_FAILURES = 60

# Members under one policy up to which all may move if one of them comes in.
_FEW = 40

# How many times more hosts than needed are looked at: for those that come
# in, and for those who make room.
_WIDTH = 2.0


class Repairs:
    """Completes what attempts have begun.

    :ivar closest: of all that was in vain, the plan with most members, lawful
        as far as it goes; None if nothing was
    """

    def __init__(self, finder):
        """Nothing is known yet.

        :param finder: greedy.Greedy
        """
        self.closest = None
        self._finder = finder
        self._allotment = None

    def run(self, clock):
        """Complete the best of the attempts so far.

        :param clock: clock.Clock
        :returns: a lawful plan, or None
        """
        if self._finder.most is None:
            return None
        repair = _Repair(self._finder, self._allot)
        self._note(repair.plan)
        failures = 0
        while repair.waiting and failures < _MOST_FAILURES and clock.left():
            coming = set(repair.waiting.popleft())
            if not repair.bring_in(coming, clock):
                repair.make_room(coming, clock)
                failures += 1
            self._note(repair.plan)
        if repair.waiting or rules.faults(self._finder.problem, repair.plan):
            return None
        return repair.plan

    def _note(self, plan):
        most = self.closest and len(self.closest.placement)
        if most is None or len(plan.placement) > most:
            self.closest = plan

    def _allot(self, clock):
        """The allotment, None if there is no time to write it down."""
        # The solver is slow to import.
        from nova_groupext.planner.repair import allot

        if self._allotment is None:
            with contextlib.suppress(clocks.OutOfTime):
                self._allotment = allot.Allotment(self._finder, clock)
        return self._allotment


class _Repair:
    """Brings members into a plan, a few at a time.

    :ivar plan: rules.Plan, lawful as far as it goes
    :ivar waiting: deque of collections of paths that go together and have
        no seat
    """

    def __init__(self, finder, allot):
        """Start with the best attempt.

        :param finder: greedy.Greedy
        :param allot: gives the allot.Allotment when it is first needed
        """
        self.problem = finder.problem
        self.plan, missing = finder.most
        self.waiting = collections.deque(sorted(missing, key=len)[::-1])
        self._finder = finder
        self._allot = allot
        self._seated = seated.Seated(self.problem, self.plan)
        self._seated.setting.learn(finder.setting)
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
        self._turns = collections.Counter()
        self._ejection = eject.Ejection(finder, self._seated)
        self._scout = scout.Scout(
            self._seated.setting, np.random.default_rng(self.problem.seed)
        )

    def bring_in(self, coming, clock):
        """Bring some more members into the plan; gives whether they are."""
        absent = {path for paths in self.waiting for path in paths}
        smaller = subproblem.without(self.problem, absent)
        turn = self._turns[min(coming)]
        self._turns[min(coming)] += 1
        if turn % 2:
            coming = _related(self._ties, coming) - absent
        # Those that share a domain can only leave it together.
        bonds = self._bonds if turn % 3 else []
        moving = coming & self.problem.movable
        plan = self._try(smaller, moving, bonds, clock.slice(_SLICE))
        if plan is not None:
            self._change_to(plan)
        return plan is not None

    def make_room(self, coming, clock):
        """Seat some members whoever has to go; those wait instead."""
        found = None
        if any(not bond.isdisjoint(coming) for bond in self._bonds):
            found = self._settle(coming, clock)
        if found is None:
            found = self._ejection.seat(self.plan, coming, clock)
        if found is None:
            self.waiting.append(coming)
        else:
            self.waiting.extend(found.lost)
            self._change_to(found.plan)

    def _settle(self, coming, clock):
        """Allot domains anew; None if there is none for some members."""
        allotment = self._allot(clock)
        if allotment is None:
            return None
        roomy = self._ejection.find_roomy(allotment.found.domains)
        homes = allotment.near(self.plan, roomy, clock)
        now = allotment.homes_of(self.plan)
        moved = [guard for guard in homes if now.get(guard) != homes[guard]]
        inside = set().union(*(guard.paths for guard in moved))
        if inside.isdisjoint(coming):
            return None
        waiting = [coming, *self.waiting]
        later = [some for some in waiting if inside.isdisjoint(some)]
        arriving = [some for some in waiting if not inside.isdisjoint(some)]
        self.waiting = collections.deque(later)
        # Who may be left out, and is, does not come.
        coming = inside & self.plan.placement.keys()
        coming = coming.union(*arriving) & self.problem.movable
        move = crowds.Move(homes, moved, coming)
        return self._ejection.settle(self.plan, move, allotment.found, clock)

    def _change_to(self, plan):
        self.plan = plan
        self._seated.change_to(plan)

    def _try(self, smaller, coming, bonds, clock):
        """Look for a plan with some more members; gives it or None.

        Mostly there is one for which nobody else has to move, but it may
        need hosts that nobody would pick.
        """
        moving = coming & self.problem.movable
        hosts = self._open_hosts(moving)
        plan = None
        if sum(map(len, hosts.values())) <= _FEW_SEATS:
            plan = self._ask(smaller, moving, hosts, clock)
        if plan is not None:
            return plan
        targets = self._finder.pick_hosts_for(coming, _WIDTH)
        placement = self.plan.placement
        evicted = {path for path, host in placement.items() if host in targets}
        evicted = _related(bonds, evicted) & placement.keys()
        moving = (coming | evicted) & self.problem.movable
        hosts = self._hosts(moving, targets)
        return self._ask(smaller, moving, hosts, clock)

    def _ask(self, smaller, moving, hosts, clock):
        """Ask for new seats for some members; gives a plan or None.

        :param hosts: units.Unit of them -> ids of the hosts it may use
        """
        if sum(map(len, hosts.values())) > _MOST_SEATS:
            return None
        around = subproblem.around(smaller, self.plan, moving)
        plan = ask.ask(subproblem.on_hosts(around, hosts), clock).plan
        return plan and subproblem.back(self.plan, plan)

    def _open_hosts(self, moving):
        """All hosts with room for a moving member, by unit."""
        setting = self._seated.setting
        names = setting.board.hosts
        with self._seated.lifted(moving):
            return {
                part: {names[host] for host in setting.hosts(unit)}
                for unit, part in self._seated.parts(moving).items()
            }

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

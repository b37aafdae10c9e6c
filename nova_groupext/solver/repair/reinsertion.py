# SPDX-License-Identifier: Apache-2.0
"""Reinsertion of members that construction left out."""

import collections
import contextlib

import numpy as np

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import ejection
from nova_groupext.solver.repair import joint_reinsertion

# Seconds for one integer program.
_SLICE = 0.5

# Limit on its variables: a larger one takes too long.
_MOST_SEATS = 4_000

# The same with all hosts for the members to insert.
_FEW_SEATS = 1_000

# Limit on failed insertions.
_MOST_FAILURES = 60

# Limit on members under one policy that may all move with one of them.
_FEW = 40

# Ratio of sampled hosts to hosts needed, for members to insert and to
# displace.
_WIDTH = 2.0


class Reinsertion:
    """Completion of partial plans of construction.

    :ivar closest: largest partial plan so far, feasible except for the members
        it leaves out; None before the first
    """

    def __init__(self, finder):
        """Start without a plan.

        :param finder: squeaky_wheel.SqueakyWheel
        """
        self.closest = None
        self._finder = finder
        self._allotment = None

    def run(self, budget):
        """Complete the best partial plan of the constructions so far.

        :param budget: time_budget.TimeBudget
        :returns: a feasible violations.Plan, or None
        """
        if self._finder.most is None:
            return None
        repair = _Repair(self._finder, self._allot)
        self._note(repair.plan)
        failures = 0
        while repair.waiting and failures < _MOST_FAILURES and budget.left():
            coming = set(repair.waiting.popleft())
            if not repair.bring_in(coming, budget):
                repair.make_room(coming, budget)
                failures += 1
            self._note(repair.plan)
        if repair.waiting or violations.find(
            self._finder.problem, repair.plan
        ):
            return None
        return repair.plan

    def _note(self, plan):
        most = self.closest and len(self.closest.placement)
        if most is None or len(plan.placement) > most:
            self.closest = plan

    def _allot(self, budget):
        """Return the master problem, None if there is no time to build it."""
        # The solver is slow to import.
        from nova_groupext.solver.repair import master_problem

        if self._allotment is None:
            with contextlib.suppress(time_budget.OutOfTime):
                self._allotment = master_problem.DomainAssignment(
                    self._finder, budget
                )
        return self._allotment


class _Repair:
    """Insertion of members into a plan, a few at a time.

    :ivar plan: violations.Plan, feasible except for the members it leaves out
    :ivar waiting: deque of collections of paths without a host, inserted
        together
    """

    def __init__(self, finder, allot):
        """Start with the best partial plan.

        :param finder: squeaky_wheel.SqueakyWheel
        :param allot: returns the master_problem.DomainAssignment, or None
        """
        self.problem = finder.problem
        self.plan, missing = finder.most
        self.waiting = collections.deque(sorted(missing, key=len)[::-1])
        self._finder = finder
        self._allot = allot
        self._seated = assignment.AssignmentState(self.problem, self.plan)
        self._seated.state.learn(finder.state)
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
        self._ejection = ejection.Ejection(finder, self._seated)
        self._scout = candidate_list.HostSampler(
            self._seated.state, np.random.default_rng(self.problem.seed)
        )

    def bring_in(self, coming, budget):
        """Insert some members without ejection; return whether they fit."""
        absent = {path for paths in self.waiting for path in paths}
        smaller = subproblem.without(self.problem, absent)
        turn = self._turns[min(coming)]
        self._turns[min(coming)] += 1
        if turn % 2:
            coming = _related(self._ties, coming) - absent
        # Members of one domain can only leave it together.
        bonds = self._bonds if turn % 3 else []
        moving = coming & self.problem.movable
        plan = self._try(smaller, moving, bonds, budget.slice(_SLICE))
        if plan is not None:
            self._change_to(plan)
        return plan is not None

    def make_room(self, coming, budget):
        """Insert some members by ejection; ejected members wait instead."""
        found = None
        if any(not bond.isdisjoint(coming) for bond in self._bonds):
            found = self._settle(coming, budget)
        if found is None:
            found = self._ejection.seat(self.plan, coming, budget)
        if found is None:
            self.waiting.append(coming)
        else:
            self.waiting.extend(found.lost)
            self._change_to(found.plan)

    def _settle(self, coming, budget):
        """Assign new domains; return a Change, None if no member fits."""
        allotment = self._allot(budget)
        if allotment is None:
            return None
        roomy = self._ejection.find_roomy(allotment.found.domains)
        homes = allotment.near(self.plan, roomy, budget)
        now = allotment.homes_of(self.plan)
        moved = [
            propagator
            for propagator in homes
            if now.get(propagator) != homes[propagator]
        ]
        inside = set().union(*(propagator.paths for propagator in moved))
        if inside.isdisjoint(coming):
            return None
        waiting = [coming, *self.waiting]
        later = [some for some in waiting if inside.isdisjoint(some)]
        arriving = [some for some in waiting if not inside.isdisjoint(some)]
        self.waiting = collections.deque(later)
        # Optional members that the plan leaves out stay out.
        coming = inside & self.plan.placement.keys()
        coming = coming.union(*arriving) & self.problem.movable
        move = joint_reinsertion.Move(homes, moved, coming)
        return self._ejection.settle(self.plan, move, allotment.found, budget)

    def _change_to(self, plan):
        self.plan = plan
        self._seated.change_to(plan)

    def _try(self, smaller, coming, bonds, budget):
        """Return a plan with some more members, or None.

        Mostly no other member has to move, but a sample of hosts may miss
        those that are needed.
        """
        moving = coming & self.problem.movable
        hosts = self._open_hosts(moving)
        plan = None
        if sum(map(len, hosts.values())) <= _FEW_SEATS:
            plan = self._ask(smaller, moving, hosts, budget)
        if plan is not None:
            return plan
        targets = self._finder.pick_hosts_for(coming, _WIDTH)
        placement = self.plan.placement
        evicted = {path for path, host in placement.items() if host in targets}
        evicted = _related(bonds, evicted) & placement.keys()
        moving = (coming | evicted) & self.problem.movable
        hosts = self._hosts(moving, targets)
        return self._ask(smaller, moving, hosts, budget)

    def _ask(self, smaller, moving, hosts, budget):
        """Return a plan with new hosts for some members, or None.

        :param hosts: equivalence.EquivalenceClass of them -> ids of candidate
            hosts
        """
        if sum(map(len, hosts.values())) > _MOST_SEATS:
            return None
        around = subproblem.around(smaller, self.plan, moving)
        plan = feasibility.ask(subproblem.on_hosts(around, hosts), budget).plan
        return plan and subproblem.back(self.plan, plan)

    def _open_hosts(self, moving):
        """Map classes of moving members to all hosts with capacity."""
        state = self._seated.state
        names = state.matrices.hosts
        with self._seated.lifted(moving):
            return {
                part: {names[host] for host in state.hosts(unit)}
                for unit, part in self._seated.parts(moving).items()
            }

    def _hosts(self, moving, targets):
        """Map classes of moving members to ids of candidate hosts."""
        placement = self.plan.placement
        names = self._seated.state.matrices.hosts
        hosts = {}
        with self._seated.lifted(moving) as standing:
            picked = self._scout.pick(standing, _WIDTH)
            for unit, part in self._seated.parts(moving).items():
                open_ = self._seated.state.hosts(unit)
                hosts[part] = targets.intersection(names[h] for h in open_)
                hosts[part].update(picked[unit])
                hosts[part].update(
                    placement[p] for p in part.members if p in placement
                )
        return hosts


def _covered(policy):
    return frozenset().union(*policy.sides)


def _related(groups, paths):
    """Return members and all that share a group with one of them."""
    return paths.union(*(g for g in groups if not g.isdisjoint(paths)))

# SPDX-License-Identifier: Apache-2.0
"""Reinsertion of members that construction left out."""

import collections
import contextlib

import numpy as np

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import ejection
from nova_groupext.solver.repair import joint_reinsertion

# Seconds for one integer program.
_SECONDS = 0.5

# Limit on its variables: a larger one takes too long.
_MAX_VARIABLES = 4_000

# The same with all hosts for the members to insert.
_MAX_VARIABLES_ALL_HOSTS = 1_000

# Limit on failed insertions.
_MAX_FAILURES = 60

# Limit on members under one policy that may all move with one of them.
_MAX_RELATED = 40

# Insertions of the same members without ejection, before one with it.
_MIN_ATTEMPTS = 3

# Limit on members on the hosts where others are inserted.
_MAX_DISPLACED = 40

# Capacity of sampled hosts over capacity needed, for members to insert and to
# displace.
_RATIO = 2.0


class Reinsertion:
    """Completion of partial plans of construction.

    :ivar best_partial_plan: largest partial plan so far, feasible except for
        the members it leaves out; None before the first
    :ivar last_plan: plan at the end of the last run
    """

    def __init__(self, greedy):
        """Start without a plan.

        :param greedy: squeaky_wheel.SqueakyWheel
        """
        self.best_partial_plan = self.last_plan = None
        self._greedy = greedy
        self._master = None
        # The run that the end of its time has interrupted
        self._interrupted = None

    def run(self, budget):
        """Complete the best partial plan of the constructions so far.

        A run that was interrupted goes on, unless that plan lacks less than
        half as many members.

        :param budget: time_budget.TimeBudget
        :returns: a feasible violations.Plan, or None
        """
        insertion, newer = self._interrupted, self._greedy.best_partial
        if insertion is None and newer is None:
            return None
        if newer is not None and (
            insertion is None
            or 2 * _count(newer[1]) < _count(insertion.unplaced)
        ):
            insertion = _Insertion(self._greedy, self._get_master)
            self._record(insertion.plan)
        while insertion.goes_on and budget.remaining():
            insertion.insert_next(budget)
            self._record(insertion.plan)
        self._interrupted = insertion if insertion.goes_on else None
        self.last_plan = insertion.plan
        if insertion.unplaced or violations.find(
            self._greedy.problem, insertion.plan
        ):
            return None
        return insertion.plan

    def _record(self, plan):
        max_placed = self.best_partial_plan and len(
            self.best_partial_plan.placement
        )
        if max_placed is None or len(plan.placement) > max_placed:
            self.best_partial_plan = plan

    def _get_master(self, budget):
        """Return the master problem, None if there is no time to build it."""
        # The solver is slow to import.
        from nova_groupext.solver.repair import master_problem

        if self._master is None:
            with contextlib.suppress(time_budget.OutOfTime):
                self._master = master_problem.DomainAssignment(
                    self._greedy, budget
                )
        return self._master


def _count(unplaced):
    return sum(map(len, unplaced))


class _Insertion:
    """Insertion of members into a plan, a few at a time.

    :ivar plan: violations.Plan, feasible except for the members it leaves out
    :ivar unplaced: deque of collections of paths without a host, inserted
        together
    """

    def __init__(self, greedy, get_master):
        """Start with the best partial plan.

        :param greedy: squeaky_wheel.SqueakyWheel
        :param get_master: returns the master_problem.DomainAssignment, or None
        """
        self.problem = greedy.problem
        self.plan, unplaced = greedy.best_partial
        self.unplaced = collections.deque(sorted(unplaced, key=len)[::-1])
        self._greedy = greedy
        self._get_master = get_master
        self._assigned = assignment.AssignmentState(self.problem, self.plan)
        self._assigned.state.copy_fitting_from(greedy.state)
        small_policies = [
            policy
            for policy in self.problem.topology.policies
            if policy.strict and policy.size <= _MAX_RELATED
        ]
        self._policy_paths = [policy.paths for policy in small_policies]
        self._colocated_paths = [
            policy.paths
            for policy in small_policies
            if policy.binds_one_domain
        ]
        self._attempts = collections.Counter()
        self._failures = 0
        self._ejection = ejection.EjectionSearch(greedy, self._assigned)
        self._random = np.random.default_rng(self.problem.seed)
        self._sampler = candidate_list.HostSampler(
            self._assigned.state, self._random
        )

    @property
    def goes_on(self):
        """True while there is a member to insert, and hope for it."""
        return self.unplaced and self._failures < _MAX_FAILURES

    def insert_next(self, budget):
        """Insert the next members; after some attempts, instead of others."""
        to_insert = set(self.unplaced.popleft())
        if self.insert(to_insert, budget):
            return
        self._failures += 1
        if self._attempts[min(to_insert)] < _MIN_ATTEMPTS:
            # The next attempt draws other hosts.
            self.unplaced.append(to_insert)
        else:
            self.insert_by_ejection(to_insert, budget)

    def insert(self, to_insert, budget):
        """Insert some members without ejection; return whether they fit."""
        absent = {path for paths in self.unplaced for path in paths}
        problem = subproblem.remove_members(self.problem, absent)
        attempt = self._attempts[min(to_insert)]
        self._attempts[min(to_insert)] += 1
        if attempt % 2:
            to_insert = _related(self._policy_paths, to_insert) - absent
        # Colocated members can only leave their domain together.
        colocated_paths = self._colocated_paths if attempt % 3 else []
        moving = to_insert & self.problem.movable
        plan = self._find_plan(
            problem, moving, colocated_paths, budget.slice(_SECONDS)
        )
        if plan is not None:
            self._set_plan(plan)
        return plan is not None

    def insert_by_ejection(self, to_insert, budget):
        """Insert some members; ejected members become unplaced instead."""
        result = None
        if any(
            not paths.isdisjoint(to_insert) for paths in self._colocated_paths
        ):
            result = self._move_groups(to_insert, budget)
        if result is None:
            result = self._ejection.insert(self.plan, to_insert, budget)
        if result is None:
            self.unplaced.append(to_insert)
        else:
            self.unplaced.extend(result.ejected)
            self._set_plan(result.plan)

    def _move_groups(self, to_insert, budget):
        """Assign new domains; return an Ejection, None if no member fits."""
        master = self._get_master(budget)
        if master is None:
            return None
        free_domains = self._ejection.find_free_domains(master.groups.domains)
        prescribed = master.find_domains(self.plan, free_domains, budget)
        current = master.domains_of(self.plan)
        moved = [
            propagator
            for propagator in prescribed
            if current.get(propagator) != prescribed[propagator]
        ]
        inside = set().union(*(propagator.paths for propagator in moved))
        if inside.isdisjoint(to_insert):
            return None
        all_unplaced = [to_insert, *self.unplaced]
        later = [paths for paths in all_unplaced if inside.isdisjoint(paths)]
        now = [paths for paths in all_unplaced if not inside.isdisjoint(paths)]
        self.unplaced = collections.deque(later)
        # Optional members that the plan leaves out stay out.
        to_insert = inside & self.plan.placement.keys()
        to_insert = to_insert.union(*now) & self.problem.movable
        move = joint_reinsertion.Move(prescribed, moved, to_insert)
        return self._ejection.move_groups(
            self.plan, move, master.groups, budget
        )

    def _set_plan(self, plan):
        self.plan = plan
        self._assigned.apply(plan)

    def _find_plan(self, problem, to_insert, colocated_paths, budget):
        """Return a plan with some more members, or None.

        Mostly no other member has to move, but a sample of hosts may miss
        those that are needed.
        """
        moving = to_insert & self.problem.movable
        hosts = self._open_hosts(moving)
        plan = None
        if sum(map(len, hosts.values())) <= _MAX_VARIABLES_ALL_HOSTS:
            plan = self._solve(problem, moving, hosts, budget)
        if plan is not None:
            return plan
        targets = self._choose_targets(
            self._greedy.sample_hosts_for(to_insert, _RATIO)
        )
        placement = self.plan.placement
        displaced = {
            path for path, host in placement.items() if host in targets
        }
        displaced = _related(colocated_paths, displaced) & placement.keys()
        moving = (to_insert | displaced) & self.problem.movable
        hosts = self._sample_hosts(moving, targets)
        return self._solve(problem, moving, hosts, budget)

    def _choose_targets(self, targets):
        """Return as many hosts as have few members; each time others."""
        counts = collections.Counter(self.plan.placement.values())
        chosen, displaced = set(), 0
        for host in self._random.permutation(sorted(targets)).tolist():
            displaced += counts[host]
            if chosen and displaced > _MAX_DISPLACED:
                break
            chosen.add(host)
        return chosen

    def _solve(self, problem, moving, hosts, budget):
        """Return a plan with new hosts for some members, or None.

        :param hosts: equivalence.EquivalenceClass of them -> ids of candidate
            hosts
        """
        if sum(map(len, hosts.values())) > _MAX_VARIABLES:
            return None
        fixed = subproblem.fix_others(problem, self.plan, moving)
        plan = feasibility.solve(
            subproblem.restrict_hosts(fixed, hosts),
            budget,
            proof=Proof.NEEDLESS,
        ).plan
        return plan and subproblem.restore_alternatives(self.plan, plan)

    def _open_hosts(self, moving):
        """Map classes of moving members to ids of all hosts with capacity."""
        state = self._assigned.state
        host_ids = state.matrices.hosts
        with self._assigned.unassigned(moving):
            return {
                part: {host_ids[host] for host in state.hosts(eq_class)}
                for eq_class, part in self._assigned.restrict_classes(
                    moving
                ).items()
            }

    def _sample_hosts(self, moving, targets):
        """Map classes of moving members to ids of candidate hosts."""
        placement = self.plan.placement
        host_ids = self._assigned.state.matrices.hosts
        hosts = {}
        with self._assigned.unassigned(moving) as demand:
            sampled = self._sampler.sample(
                demand, candidate_list.narrow(_RATIO)
            )
            for eq_class, part in self._assigned.restrict_classes(
                moving
            ).items():
                allowed = self._assigned.state.hosts(eq_class)
                hosts[part] = targets.intersection(
                    host_ids[h] for h in allowed
                )
                hosts[part].update(sampled[eq_class])
                hosts[part].update(
                    placement[p] for p in part.members if p in placement
                )
        return hosts


def _related(groups, paths):
    """Return members and all that share a group with one of them."""
    return paths.union(*(g for g in groups if not g.isdisjoint(paths)))

# SPDX-License-Identifier: Apache-2.0
"""Joint reinsertion: hosts for all groups of some domains at once.

Colocation groups that fill a domain seldom fit one after the other. The
integer program includes bottleneck classes: otherwise the groups would take
the hosts that only these can use.
"""

import dataclasses

import numpy as np

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact.proof import Proof
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.repair import colocation_groups

# Seconds for one integer program, and its largest number of variables.
_SECONDS = 3.0
_MAX_VARIABLES = 10_000


@dataclasses.dataclass(frozen=True)
class Move:
    """Colocation groups that change their domains.

    :ivar prescribed: propagators.OneDomain of all groups -> number of its
        domain
    :ivar moved: those of them that move or are inserted
    :ivar to_insert: paths of members that move or are inserted, not pinned
    """

    prescribed: dict
    moved: list
    to_insert: set


class JointReinsertion:
    """Assignment of groups with the bottleneck classes in their domains."""

    def __init__(self, problem, assigned):
        """Keep problem and assignment.

        :param problem: problems.Problem
        :param assigned: assignment.AssignmentState of the placed members
        """
        self._problem = problem
        self._assigned = assigned
        self._state = assigned.state

    def reinsert(self, plan, move, colocated_groups, budget):
        """Assign groups to hosts in their domains, with bottleneck classes.

        :param plan: violations.Plan of the placed members
        :param move: Move of propagators of the state
        :param colocated_groups: colocation_groups.ColocationGroups
        :param budget: time_budget.TimeBudget
        :returns: (violations.Plan, paths of members without a host, which it
            ejects or does not insert); None if no such plan was found
        """
        prescribed, to_insert = move.prescribed, move.to_insert
        groups = self._find_groups(move, colocated_groups)
        if not groups:
            return None
        bottleneck_hosts = self._host_ids(
            np.flatnonzero(colocated_groups.bottleneck_hosts)
        )
        host_ids = bottleneck_hosts.union(
            *(
                self._host_ids(propagator.domains[prescribed[propagator]])
                for propagator in groups
            )
        )
        displaced = {
            path for path, host in plan.placement.items() if host in host_ids
        }
        to_assign = set().union(
            *(propagator.paths for propagator in groups),
            *(each.members for each in colocated_groups.bottleneck_classes),
        )
        movable = self._problem.movable
        to_assign &= movable & (to_insert | plan.placement.keys())
        unplaced = ((displaced | to_insert) & movable) - to_assign
        rest = plan.without(unplaced)
        new_plan = self._solve(
            rest, to_assign, groups, prescribed, bottleneck_hosts, budget
        )
        return None if new_plan is None else (new_plan, unplaced)

    def _find_groups(self, move, colocated_groups):
        """Return all groups that share a small domain with a moving one.

        Groups on bottleneck hosts are included, because bottleneck members may
        move there.
        """
        prescribed = move.prescribed
        domains = {
            (propagator.policy.scope, prescribed[propagator])
            for propagator in move.moved
        }
        return [
            propagator
            for propagator, domain in prescribed.items()
            if colocation_groups.has_small_domains(propagator)
            and (
                colocated_groups.has_bottlenecks(propagator, domain)
                or (propagator.policy.scope, domain) in domains
            )
        ]

    def _solve(
        self, rest, to_assign, groups, prescribed, bottleneck_hosts, budget
    ):
        """Return a plan completed with hosts for the members to assign."""
        absent = self._problem.movable - to_assign - rest.placement.keys()
        with_placed = subproblem.remove_members(self._problem, absent)
        fixed = subproblem.fix_others(with_placed, rest, to_assign)
        hosts = self._hosts(to_assign, groups, prescribed, bottleneck_hosts)
        if sum(map(len, hosts.values())) > _MAX_VARIABLES:
            return None
        part = subproblem.restrict_hosts(fixed, hosts)
        plan = feasibility.solve(
            part, budget.slice(_SECONDS), proof=Proof.NEEDLESS
        ).plan
        return (
            None
            if plan is None
            else subproblem.restore_alternatives(rest, plan)
        )

    def _hosts(self, to_assign, groups, prescribed, bottleneck_hosts):
        """Map classes of the members to ids of candidate hosts."""
        hosts = {}
        for eq_class, part in self._assigned.restrict_classes(
            to_assign
        ).items():
            domains = [
                propagator.domains[prescribed[propagator]]
                for propagator in groups
                if eq_class in propagator.eq_classes
            ]
            smallest = min(domains, key=len, default=None)
            hosts[part] = (
                bottleneck_hosts
                if smallest is None
                else self._host_ids(smallest)
            )
        return hosts

    def _host_ids(self, hosts):
        host_ids = self._state.matrices.hosts
        return {host_ids[host] for host in hosts}

# SPDX-License-Identifier: Apache-2.0
"""Joint reinsertion: hosts for all groups of some domains at once.

Colocation groups that fill a domain seldom fit one after the other. The
integer program includes bottleneck classes: otherwise the groups would take
the hosts that only these can use.
"""

import dataclasses

import numpy as np

from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.repair import colocation_groups

# Seconds for one integer program, and its largest number of variables.
_SLICE = 3.0
_MOST_SEATS = 10_000


@dataclasses.dataclass(frozen=True)
class Move:
    """Colocation groups that change their domains.

    :ivar homes: propagators.OneDomain of all groups -> number of its domain
    :ivar moved: those of them that move or are inserted
    :ivar coming: paths of members that move or are inserted, not pinned
    """

    homes: dict
    moved: list
    coming: set


class JointReinsertion:
    """Assignment of groups with the bottleneck classes in their domains."""

    def __init__(self, problem, seated):
        """Keep problem and assignment.

        :param problem: problems.Problem
        :param seated: assignment.AssignmentState of the placed members
        """
        self._problem = problem
        self._seated = seated
        self._state = seated.state

    def seat(self, plan, move, bundles, budget):
        """Assign groups to hosts in their domains, with bottleneck classes.

        :param plan: violations.Plan of the placed members
        :param move: Move of propagators of the state
        :param bundles: colocation_groups.ColocationGroups
        :param budget: time_budget.TimeBudget
        :returns: (violations.Plan, paths of members without a host, which it
            ejects or does not insert); None if no such plan was found
        """
        homes, coming = move.homes, move.coming
        crowd = self._find_crowd(move, bundles)
        if not crowd:
            return None
        traps = self._names(np.flatnonzero(bundles.traps))
        inside = traps.union(
            *(
                self._names(propagator.domains[homes[propagator]])
                for propagator in crowd
            )
        )
        here = {p for p, host in plan.placement.items() if host in inside}
        asked = {path for propagator in crowd for path in propagator.paths}
        asked |= {p for unit in bundles.captives for p in unit.members}
        movable = self._problem.movable
        asked &= movable & (coming | plan.placement.keys())
        lifted = ((here | coming) & movable) - asked
        base = plan.without(lifted)
        found = self._ask(base, asked, crowd, homes, traps, budget)
        return None if found is None else (found, lifted)

    def _find_crowd(self, move, bundles):
        """Return all groups that share a small domain with a moving one.

        Groups on bottleneck hosts are included, because bottleneck members may
        move there.
        """
        homes = move.homes
        crowded = {
            (propagator.policy.scope, homes[propagator])
            for propagator in move.moved
        }
        return [
            propagator
            for propagator, home in homes.items()
            if colocation_groups.is_narrow(propagator)
            and (
                bundles.is_trap(propagator, home)
                or (propagator.policy.scope, home) in crowded
            )
        ]

    def _ask(self, base, asked, crowd, homes, traps, budget):
        """Return the plan of the staying members, with hosts for others."""
        absent = self._problem.movable - asked - base.placement.keys()
        smaller = subproblem.without(self._problem, absent)
        around = subproblem.around(smaller, base, asked)
        hosts = self._hosts(asked, crowd, homes, traps)
        if sum(map(len, hosts.values())) > _MOST_SEATS:
            return None
        part = subproblem.on_hosts(around, hosts)
        found = feasibility.ask(part, budget.slice(_SLICE)).plan
        return None if found is None else subproblem.back(base, found)

    def _hosts(self, asked, crowd, homes, traps):
        """Map classes of the members to ids of candidate hosts."""
        hosts = {}
        for unit, part in self._seated.parts(asked).items():
            domains = [
                propagator.domains[homes[propagator]]
                for propagator in crowd
                if unit in propagator.units
            ]
            home = min(domains, key=len, default=None)
            hosts[part] = traps if home is None else self._names(home)
        return hosts

    def _names(self, hosts):
        names = self._state.matrices.hosts
        return {names[host] for host in hosts}

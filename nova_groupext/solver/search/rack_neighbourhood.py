# SPDX-License-Identifier: Apache-2.0
"""Plans with more members, where not all of them have a host.

Each step decides all hosts of some racks anew, or of the narrowest level above
the hosts that has domains, for the members on them and those without a host.
All other members keep their hosts. The integer program places as many as it
can.
"""

from collections.abc import Iterator

import numpy as np

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import host_arrays
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search.incumbent import Incumbent


def search(
    incumbent: Incumbent, budget: time_budget.TimeBudget
) -> Iterator[violations.Plan]:
    """Yield plans with more members, until there are none nearby.

    :param incumbent: offer it each plan before the next
    """
    racks = _Racks(incumbent)
    idle_steps = 0
    while (
        racks.unplaced()
        and not incumbent.has_most_members
        and budget.remaining()
    ):
        members = incumbent.objective.members
        yield racks.step(budget)
        idle_steps = (
            0 if incumbent.objective.members > members else idle_steps + 1
        )
        if idle_steps * racks.number > tuning.MAX_IDLE_PASSES * racks.count:
            break


class _Racks:
    """Neighbourhoods of some racks.

    :ivar count: number of all racks
    :ivar number: of those that a step decides anew
    """

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent = incumbent
        self._problem = incumbent.problem
        arrays = host_arrays.of(self._problem)
        narrowest, *wider = self._problem.levels
        domains = next(
            found
            for found in map(arrays.domains, [*wider, narrowest])
            if found.size
        )
        self._hosts = [
            {arrays.ids[host] for host in hosts} for hosts in domains.hosts
        ]
        self._random = np.random.default_rng(self._problem.seed)
        self._next: list[int] = []
        self._racks: float = tuning.INITIAL_RACKS

    @property
    def count(self) -> int:
        return len(self._hosts)

    @property
    def number(self) -> int:
        return max(1, min(round(self._racks), self.count))

    def unplaced(self) -> set[Path]:
        """Return the members that the incumbent leaves out."""
        placed = self._incumbent.plan.placement.keys()
        return set(self._problem.movable - placed)

    def step(self, budget: time_budget.TimeBudget) -> violations.Plan:
        """Return the best plan of one neighbourhood."""
        from nova_groupext.solver.exact import objectives

        plan = self._incumbent.plan
        hosts = self._draw_hosts()
        moving = self.unplaced().union(
            path for path, host in plan.placement.items() if host in hosts
        )
        moving &= self._problem.movable
        fixed = subproblem.fix_others(self._problem, plan, moving)
        part = subproblem.restrict_hosts(
            fixed,
            dict.fromkeys(equivalence.equivalence_classes(fixed), hosts),
        )
        try:
            exact = objectives.ExactSolver(
                part, budget.slice(tuning.RACKS_SECONDS)
            )
            exact.start_from(plan)
            exact.place_members()
        except time_budget.OutOfTime:
            self._racks /= tuning.RACKS_GROWTH
            return plan
        self._racks *= (
            tuning.RACKS_GROWTH if exact.is_proved else 1 / tuning.RACKS_GROWTH
        )
        return subproblem.restore_alternatives(plan, exact.incumbent.plan)

    def _draw_hosts(self) -> set[HostId]:
        """Return the hosts of the next racks; each comes once in a pass."""
        if len(self._next) < self.number:
            self._next = self._random.permutation(self.count).tolist()
        drawn = [self._next.pop() for _ in range(self.number)]
        return set[HostId]().union(*(self._hosts[rack] for rack in drawn))

# SPDX-License-Identifier: Apache-2.0
"""Plans that differ in a few members, the best of them by exact programmes.

Which members may move is drawn: those whose policy costs something, those of
some domains, those that are left out. All others are pinned meanwhile.
"""

import numpy as np

from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import setting as settings

# Members that may move at first, and at least.
_MOVING = 24
_FEWEST = 6

# Seconds for one programme.
_SLICE = 2.0

# Neighbourhoods in a row that may be in vain.
_PATIENCE = 24

# How many times more hosts than needed are looked at.
_WIDTH = 3.0

# Hosts more for each unit: best liked, and near those it belongs to.
_LIKED = 12
_NEAR = 12


def search(best, clock):
    """Look for better plans near the best one.

    :param best: best.Best; to be given each plan before the next is asked
    :param clock: clock.Clock
    :returns: generator of lawful rules.Plan
    """
    walk = _Walk(best)
    idle = 0
    while idle < _PATIENCE and clock.left():
        rank = best.rank
        plan = walk.step(clock)
        if plan is not None:
            yield plan
        idle = 0 if best.rank > rank else idle + 1


class _Walk:
    def __init__(self, best):
        self.best = best
        self.problem = best.problem
        self.most = _MOVING
        self._random = np.random.default_rng(best.problem.seed)

    def step(self, clock):
        """The best plan of one neighbourhood, None if it is in vain."""
        from nova_groupext.planner.exact import objectives

        plan = self.best.plan
        moving = self._draw()
        around = subproblem.around(self.problem, plan, moving)
        part = subproblem.on_hosts(around, self._hosts(around, moving))
        exact = objectives.Exact(part, clock.slice(_SLICE))
        exact.start_from(plan)
        exact.place_members()
        exact.cut_cost()
        exact.raise_preference()
        # As many as can be proved to stand best within a slice.
        change = 1.2 if exact.is_proved else 0.7
        self.most = max(_FEWEST, self.most * change)
        return subproblem.back(plan, exact.plan)

    def _draw(self):
        """Paths of the members that may move."""
        paths = [
            path
            for path in self.problem.class_of
            if path not in self.problem.pinned
        ]
        left_out = [p for p in paths if p not in self.best.plan.placement]
        drawn = self._related() or paths
        drawn = [path for path in drawn if path not in self.problem.pinned]
        size = min(len(drawn), int(self.most))
        some = self._random.choice(len(drawn), size, replace=False)
        out = left_out[: int(self.most)]
        return {*out, *(drawn[number] for number in some)}

    def _related(self):
        """Members of a policy that costs something, often a part of them."""
        placement = self.best.plan.placement
        costs = list(rules.costs(self.problem, placement))
        if not costs or self._random.random() < 0.2:
            return []
        policy = costs[self._random.integers(len(costs))]
        paths = sorted({p for side in policy.sides for p in side})
        paths = [path for path in paths if path in placement]
        domain = {
            path: self.problem.domain(placement[path], policy.scope)
            for path in paths
        }
        few = sorted({str(d) for d in domain.values()})
        self._random.shuffle(few)
        few = few[: 1 + self._random.integers(len(few))]
        return [path for path in paths if str(domain[path]) in few]

    def _hosts(self, around, moving):
        """Where the moving members may go, by unit."""
        setting = settings.Setting(around)
        hosts = scout.Scout(setting, self._random).pick(_WIDTH)
        now = {self.best.plan.placement.get(path) for path in moving} - {None}
        return {
            unit: {*some, *now, *self._liked(setting, unit)}
            for unit, some in hosts.items()
        }

    def _liked(self, setting, unit):
        names = setting.board.hosts
        scores = unit.member_class.scores
        hosts = setting.hosts(unit)
        liked = sorted(hosts, key=lambda h: -scores.get(names[h], 0))[:_LIKED]
        near = []
        for guard in setting.soft[unit]:
            used = hosts[guard.counts[guard.domain_of[hosts]] > 0]
            loss = setting.board.loss[setting.board.class_of[unit], used]
            near += list(used[np.argsort(loss)][:_NEAR])
        return {names[host] for host in (*liked, *near)}

# SPDX-License-Identifier: Apache-2.0
"""Plans that differ in a few members, the best of them by exact programmes.

Which members may move is drawn: those of a policy that costs something, with
all that have to share a domain with them, or any. All others are pinned
meanwhile.
"""

import collections
import heapq

import numpy as np

from nova_groupext.planner import clock as clocks
from nova_groupext.planner import rules
from nova_groupext.planner import subproblem
from nova_groupext.planner.greedy import scout
from nova_groupext.planner.greedy import seated

# Units that may move at first, at least and at most.
_MOVING = 6
_FEWEST = 2
_MOST = 60

# Members for each of these units from which only some move.
_MEMBERS = 5

# Seconds for one programme.
_SLICE = 2.0

# Neighbourhoods in a row that may be in vain.
_PATIENCE = 40

# How many times more hosts than needed are looked at.
_WIDTH = 2.0

# Domains into which members of a policy are drawn together.
_TARGETS = 3

# How often these are not those that they use now.
_ELSEWHERE = 0.5

# Hosts of the targets that are looked at, for each unit; members are only
# moved out of the way where this is all of them.
_NEAR = 40

# Hosts with the best scores that are looked at, for each unit.
_LIKED = 12


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
        yield walk.step(clock)
        idle = 0 if best.rank > rank else idle + 1


class _Walk:
    def __init__(self, best):
        self.best = best
        self.problem = best.problem
        self.most = _MOVING
        self._random = np.random.default_rng(best.problem.seed)
        self._seated = seated.Seated(best.problem, best.plan)
        self._scout = scout.Scout(self._seated.setting, self._random)
        self._units = self._seated.setting.units
        self._bundles = self._find_bundles()
        self._levels = {}

    def step(self, clock):
        """The best plan of one neighbourhood."""
        from nova_groupext.planner.exact import objectives

        plan = self.best.plan
        policy = self._draw_policy()
        targets = self._draw_targets(policy)
        moving = self._draw_members(policy, targets)
        around = subproblem.around(self.problem, plan, moving)
        hosts = self._hosts(moving, targets)
        part = subproblem.on_hosts(around, hosts)
        try:
            exact = objectives.Exact(part, clock.slice(_SLICE))
            exact.start_from(plan)
            exact.place_members()
            exact.cut_cost()
            exact.raise_preference()
        except clocks.OutOfTime:
            self._move_more(0.8)
            return plan
        # As many as can be proved to stand best within a slice.
        self._move_more(1.1 if exact.is_proved else 0.8)
        return subproblem.back(plan, exact.plan)

    def _move_more(self, factor):
        self.most = min(_MOST, max(_FEWEST, self.most * factor))

    def _draw_policy(self):
        """A policy that costs something, the dear ones more often."""
        costs = rules.costs(self.problem, self.best.plan.placement)
        if not costs or self._random.random() < 0.1:
            return None
        shares = np.sqrt(np.array([float(cost) for cost in costs.values()]))
        number = self._random.choice(len(costs), p=shares / shares.sum())
        return list(costs)[number]

    def _draw_targets(self, policy):
        """Hosts of some domains to draw a policy's members into."""
        if policy is None:
            return set()
        problem = self.problem
        used = list(rules.count(problem, policy, self.best.plan.placement))
        if self._random.random() < _ELSEWHERE:
            used = list(self._inside(policy.scope))
        some = {
            used[number]
            for number in self._random.permutation(len(used))[
                : self._random.integers(1, _TARGETS + 1)
            ]
        }
        inside = self._inside(policy.scope)
        return set().union(*(inside[domain] for domain in some))

    def _draw_members(self, policy, targets):
        """Paths of the members that may move: also who is in the way."""
        placement = self.best.plan.placement
        units = self._units
        if policy is not None:
            paths = frozenset().union(*policy.sides)
            units = [unit for unit in units if unit.members[0] in paths]
        moving = set()
        for number in self._random.permutation(len(units)):
            moving.update(self._bundles[units[number]])
            if len(moving) >= self.most:
                break
        paths = self._some({p for unit in moving for p in unit.members})
        evicted = targets if len(targets) <= _NEAR * _TARGETS else ()
        for unit in self._units:
            out = [path for path in unit.members if path not in placement]
            inside = [p for p in unit.members if placement.get(p) in evicted]
            if out or inside:
                paths.update(out, inside)
        return paths & self.problem.movable

    def _some(self, paths):
        """Not too many of some members, neighbours first."""
        level = self.problem.levels[-1 if len(self.problem.levels) < 2 else 1]
        placement = self.best.plan.placement
        inside = collections.defaultdict(list)
        for path in sorted(paths & placement.keys()):
            inside[self.problem.domain(placement[path], level)].append(path)
        near = list(inside.values())
        some = paths - placement.keys()
        for number in self._random.permutation(len(near)):
            if len(some) >= self.most * _MEMBERS:
                break
            some.update(near[number])
        return some

    def _find_bundles(self):
        """Unit -> all units that have to share a domain with it."""
        bundles = {unit: {unit} for unit in self._units}
        for policy in self.problem.topology.policies:
            if policy.strict and policy.type in (
                'affinity',
                'network-proximity',
            ):
                paths = frozenset().union(*policy.sides)
                bound = {u for u in self._units if u.members[0] in paths}
                for unit in bound:
                    if len(bound) <= _MOST:
                        bundles[unit] = bundles[unit] | bound
        return bundles

    def _hosts(self, moving, targets):
        """Where the moving members may go, by unit."""
        placement = self.best.plan.placement
        now = {placement[path] for path in moving if path in placement}
        self._seated.change_to(self.best.plan)
        with self._seated.lifted(moving) as standing:
            picked = self._scout.pick(standing, _WIDTH)
            return {
                part: {
                    *picked[unit],
                    *now,
                    *self._liked(unit),
                    *self._cheapest(unit, targets),
                }
                for unit, part in self._seated.parts(moving).items()
            }

    def _cheapest(self, unit, targets):
        """The hosts of the targets where the least is lost."""
        board = self._seated.setting.board
        hosts = self._seated.setting.hosts(unit)
        loss = board.loss[board.class_of[unit], hosts]
        names = [board.hosts[host] for host in hosts[np.argsort(loss)]]
        return [name for name in names if name in targets][:_NEAR]

    def _inside(self, level):
        """The hosts of each domain of a level."""
        if level not in self._levels:
            inside = collections.defaultdict(set)
            for host in self.problem.hosts:
                inside[self.problem.domain(host, level)].add(host)
            self._levels[level] = inside
        return self._levels[level]

    def _liked(self, unit):
        scores = unit.member_class.scores
        if not scores:
            return []
        setting = self._seated.setting
        names = [setting.board.hosts[host] for host in setting.hosts(unit)]
        return heapq.nlargest(_LIKED, names, lambda n: scores.get(n, 0))

# SPDX-License-Identifier: Apache-2.0
"""Large neighbourhood search: the best plans that differ in a few members.

Each neighbourhood frees random members: those of a policy that has a cost,
with all that must share a domain with them, or any. The others stay where they
are, and the integer program optimises the free ones.
"""

import collections
import heapq

import numpy as np

from nova_groupext.solver.construct import assignment
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations

# Number of equivalence classes to free: at first, at least, at most.
_MOVING = 6
_FEWEST = 2
_MOST = 60

# Members per freed class from which on only some are freed.
_MEMBERS = 5

# Seconds for one integer program.
_SLICE = 2.0

# Neighbourhoods in a row without improvement, after which the search ends.
_PATIENCE = 40

# Ratio of sampled hosts to hosts needed.
_WIDTH = 2.0

# Limit on target domains, into which the members of a policy may move.
_TARGETS = 3

# Probability that all domains may be targets, not only those in use.
_ELSEWHERE = 0.5

# Target hosts offered to each equivalence class. Members are moved out of the
# way only if there are few target hosts.
_NEAR = 40

# Hosts with the best scores offered to each equivalence class.
_LIKED = 12


def search(best, budget):
    """Yield better plans near the incumbent.

    :param best: incumbent.Incumbent; offer it each plan before the next one
    :param budget: time_budget.TimeBudget
    :returns: generator of feasible violations.Plan; some are no improvement
    """
    walk = _Walk(best)
    idle = 0
    while idle < _PATIENCE and budget.left():
        rank = best.rank
        yield walk.step(budget)
        idle = 0 if best.rank > rank else idle + 1


class _Walk:
    def __init__(self, best):
        self.best = best
        self.problem = best.problem
        self.most = _MOVING
        self._random = np.random.default_rng(best.problem.seed)
        self._seated = assignment.AssignmentState(best.problem, best.plan)
        self._scout = candidate_list.HostSampler(
            self._seated.state, self._random
        )
        self._units = self._seated.state.units
        self._bundles = self._find_bundles()
        self._levels = {}

    def step(self, budget):
        """Return the best plan of one neighbourhood."""
        from nova_groupext.solver.exact import objectives

        plan = self.best.plan
        policy = self._draw_policy()
        targets = self._draw_targets(policy)
        moving = self._draw_members(policy, targets)
        around = subproblem.around(self.problem, plan, moving)
        hosts = self._hosts(moving, targets)
        part = subproblem.on_hosts(around, hosts)
        try:
            exact = objectives.Exact(part, budget.slice(_SLICE))
            exact.start_from(plan)
            exact.place_members()
            exact.minimise_cost()
            exact.maximise_preference()
        except time_budget.OutOfTime:
            self._move_more(0.8)
            return plan
        # Free as many members as can be optimised within a slice.
        self._move_more(1.1 if exact.is_proved else 0.8)
        return subproblem.back(plan, exact.plan)

    def _move_more(self, factor):
        self.most = min(_MOST, max(_FEWEST, self.most * factor))

    def _draw_policy(self):
        """Draw a policy that has a cost, costly ones more often, or None."""
        costs = violations.costs(self.problem, self.best.plan.placement)
        if not costs or self._random.random() < 0.1:
            return None
        shares = np.sqrt(np.array([float(cost) for cost in costs.values()]))
        number = self._random.choice(len(costs), p=shares / shares.sum())
        return list(costs)[number]

    def _draw_targets(self, policy):
        """Draw domains for the members of a policy; return their hosts."""
        if policy is None:
            return set()
        problem = self.problem
        used = list(
            violations.count(problem, policy, self.best.plan.placement)
        )
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
        """Draw members to free, with those on the targets or unplaced."""
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
        """Return some of many members, those of one domain together."""
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
        """Map equivalence classes to all that must share their domain."""
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
        """Map classes of the freed members to ids of candidate hosts."""
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
        """Return target hosts with the least opportunity cost."""
        matrices = self._seated.state.matrices
        hosts = self._seated.state.hosts(unit)
        loss = matrices.loss[matrices.class_of[unit], hosts]
        names = [matrices.hosts[host] for host in hosts[np.argsort(loss)]]
        return [name for name in names if name in targets][:_NEAR]

    def _inside(self, level):
        """Map domains of a level to the ids of their hosts."""
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
        state = self._seated.state
        names = [state.matrices.hosts[host] for host in state.hosts(unit)]
        return heapq.nlargest(_LIKED, names, lambda n: scores.get(n, 0))

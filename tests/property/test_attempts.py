# SPDX-License-Identifier: Apache-2.0
"""Do the parts of the stages keep what they promise, whatever the problem?

Attempts, the hosts they pick, repairs and neighbourhoods all work on smaller
problems. Random ones of every profile show whether what they find is lawful.
"""

from collections.abc import Iterator
import random
import unittest

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.search import neighbourhood
from tests import shares
from tests.property import checker
from tests.property import oracle
from tests.property import random_problems
from tests.unit.solver.construct import state_snapshots

CASES_PER_PROFILE = 300 // len(random_problems.PROFILES)

# Others than those that other tests look at.
FIRST_SEED = 3_000_000

# Members that come later may mend these.
MENDABLE = {'vrt.members', 'vrt.spread', 'vrt.survive'}


def cases() -> Iterator[tuple[str, dict, problems.Problem, random.Random]]:
    """Problems with members to seat, and chance for what is done to them."""
    for name in random_problems.PROFILES:
        for seed in shares.seeds(CASES_PER_PROFILE, FIRST_SEED):
            told = f'seed {seed} of {name}'
            raw = random_problems.seeded(name, seed)
            problem = problems.parse(raw)
            has_some = len(problem.pinned) < len(problem.class_of)
            if has_some and not fixed.broken(problem):
                yield told, raw, problem, random.Random(told)


def placed() -> Iterator[tuple]:
    """The same, with a lawful plan, not the best, where there is one."""
    for told, raw, problem, rng in cases():
        plan = feasibility.ask(problem, time_budget.TimeBudget(60)).plan
        if plan is not None:
            yield told, raw, problem, rng, plan


def some(rng: random.Random, paths: set) -> set:
    """A random part of some paths."""
    return {path for path in sorted(paths) if rng.random() < 0.5}


def optimum(
    problem: problems.Problem, plan: violations.Plan
) -> violations.Plan:
    """The best plan there is."""
    exact = objectives.Exact(problem, time_budget.TimeBudget(60))
    exact.start_from(plan)
    exact.place_members()
    exact.minimise_cost()
    exact.maximise_preference()
    return exact.plan


class AttemptTest(unittest.TestCase):
    def test_every_plan_is_lawful_and_leaves_no_trace(self):
        for told, _, problem, _ in cases():
            attempts = squeaky_wheel.SqueakyWheel(problem)
            before = state_snapshots.of(attempts.state)
            for number in range(6):
                plan = attempts.attempt(heeds_soft=number % 2 == 0)
                self.assertEqual(
                    before, state_snapshots.of(attempts.state), told
                )
                if plan is not None:
                    self.assertEqual([], violations.find(problem, plan), told)

    def test_what_failed_is_lawful_as_far_as_it_goes(self):
        for told, _, problem, _ in cases():
            attempts = squeaky_wheel.SqueakyWheel(problem)
            for _ in range(4):
                attempts.attempt()
            if attempts.most is not None:
                plan, missing = attempts.most
                faults = {f.code for f in violations.find(problem, plan)}
                self.assertLessEqual(faults, MENDABLE, told)
                gone = {path for paths in missing for path in paths}
                self.assertEqual(set(), gone & plan.placement.keys(), told)
                self.assertNotEqual(set(), gone, told)

    def test_the_same_seed_gives_the_same_plans(self):
        for told, _, problem, _ in cases():
            first, second = (
                squeaky_wheel.SqueakyWheel(problem),
                squeaky_wheel.SqueakyWheel(problem),
            )
            for _ in range(3):
                self.assertEqual(first.attempt(), second.attempt(), told)
            self.assertEqual(first.most, second.most, told)


class PickTest(unittest.TestCase):
    def test_only_hosts_that_may_be_used_are_picked(self):
        for told, _, problem, rng in cases():
            attempts = squeaky_wheel.SqueakyWheel(problem)
            picked = attempts.pick_hosts(rng.choice((0.5, 1, 2, 8)))
            for unit, hosts in picked.items():
                open_ = {
                    p.host for p in equivalence.host_options(problem, unit)
                }
                self.assertLessEqual(set(hosts), open_, told)


class SmallerTest(unittest.TestCase):
    """Plans of smaller problems are plans of the whole."""

    def test_with_fewer_hosts(self):
        for told, _, problem, rng in cases():
            hosts = {
                unit: some(rng, set(problem.hosts))
                for unit in equivalence.equivalence_classes(problem)
            }
            part = subproblem.on_hosts(problem, hosts)
            plan = feasibility.ask(part, time_budget.TimeBudget(60)).plan
            if plan is not None:
                self.assertEqual([], violations.find(problem, plan), told)
                self._check_hosts(problem, hosts, plan, told)

    def _check_hosts(self, problem, hosts, plan, told):
        for unit, allowed in hosts.items():
            used = {plan.placement.get(path) for path in unit.members}
            self.assertLessEqual(used, {None, *allowed}, told)

    def test_with_some_members_where_they_are(self):
        for told, _, problem, rng, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            moving = some(rng, free)
            part = subproblem.around(problem, plan, moving)
            staying = plan.placement.keys() - moving
            self.assertEqual(staying, part.pinned.keys(), told)
            better = subproblem.back(plan, optimum(part, plan))
            self.assertEqual([], violations.find(problem, better), told)
            self.assertGreaterEqual(
                violations.objective(problem, better),
                violations.objective(problem, plan),
                told,
            )
            for path in staying:
                self.assertEqual(
                    (plan.placement[path], plan.alternative.get(path)),
                    (better.placement[path], better.alternative.get(path)),
                    told,
                )

    def test_with_all_members_free_to_move(self):
        for told, raw, problem, _, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            part = subproblem.around(problem, plan, free)
            best = subproblem.back(plan, optimum(part, plan))
            known = oracle.solve(raw)
            told = f'{told}: {best} {known}'
            count, cost, preference = violations.objective(problem, best)
            self.assertEqual(
                known.placed, count - len(problem.outsiders), told
            )
            self.assertTrue(checker.close(known.soft, -float(cost)), told)
            self.assertTrue(
                checker.close(known.preference, float(preference)), told
            )

    def test_without_some_members_nobody_else_is_worse_off(self):
        # Spread and survival may depend on those who are gone.
        for told, _, problem, rng, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            gone = some(rng, free)
            part = subproblem.without(problem, gone)
            rest = {p: h for p, h in plan.placement.items() if p not in gone}
            self.assertEqual(
                problem.class_of.keys() - gone, part.class_of.keys(), told
            )
            faults = violations.find(
                part, violations.Plan(rest, plan.alternative)
            )
            codes = {fault.code for fault in faults}
            self.assertLessEqual(codes, {'vrt.spread', 'vrt.survive'}, told)


class RepairTest(unittest.TestCase):
    def test_a_repaired_plan_is_lawful(self):
        repaired = 0
        for told, _, problem, rng, plan in placed():
            attempts = squeaky_wheel.SqueakyWheel(problem)
            left = self._leave_out(problem, plan, rng)
            attempts.most = left
            found = reinsertion.Reinsertion(attempts).run(
                time_budget.TimeBudget(60)
            )
            if found is not None:
                repaired += bool(left[1])
                self.assertEqual([], violations.find(problem, found), told)
        self.assertGreater(repaired, 0)

    def _leave_out(self, problem, plan, rng):
        """What an attempt might have left: whole units find no place."""
        gone = [
            list(unit.members)
            for unit in equivalence.equivalence_classes(problem)
            if rng.random() < 0.5
        ]
        paths = {path for members in gone for path in members}
        placement = {
            path: host
            for path, host in plan.placement.items()
            if path not in paths
        }
        alternative = {
            path: way
            for path, way in plan.alternative.items()
            if path not in paths
        }
        return violations.Plan(placement, alternative), gone


class NeighbourTest(unittest.TestCase):
    def test_every_step_is_lawful_and_none_is_worse(self):
        for told, _, problem, _, plan in placed():
            best = incumbent.Incumbent(problem, plan)
            walk = neighbourhood.search(best, time_budget.TimeBudget(60))
            for found, _ in zip(walk, range(6), strict=False):
                self.assertEqual([], violations.find(problem, found), told)
                self.assertGreaterEqual(
                    violations.objective(problem, found), best.rank, told
                )
                best.offer(found)

    def test_the_same_seed_walks_the_same_way(self):
        for number, (told, _, problem, _, plan) in enumerate(placed()):
            if number % 10 == 0:
                ends = [self._walk(problem, plan) for _ in range(2)]
                self.assertEqual(*ends, told)

    def _walk(self, problem, plan):
        best = incumbent.Incumbent(problem, plan)
        for found in neighbourhood.search(best, time_budget.TimeBudget(60)):
            best.offer(found)
        return best.plan

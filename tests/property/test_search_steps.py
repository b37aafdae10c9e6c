# SPDX-License-Identifier: Apache-2.0
"""Properties of the search steps, each tested alone.

Construction, host sampling, reinsertion and neighbourhood search must find
feasible plans of random problems of every profile.
"""

from collections.abc import Iterator
import random
import unittest

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.exact import feasibility
from nova_groupext.solver.exact import objectives
from nova_groupext.solver.model import equivalence
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.search import neighbourhood
from nova_groupext.solver.search import policy_bounds
from tests import shares
from tests.property import checker
from tests.property import oracle
from tests.property import random_problems
from tests.unit.solver.construct import state_snapshots

CASES_PER_PROFILE = 300 // len(random_problems.PROFILES)

# Others than those that other tests look at.
FIRST_SEED = 3_000_000

# Members placed later may end these violations.
TEMPORARY = {'vrt.members', 'vrt.spread', 'vrt.survive'}


def cases() -> Iterator[tuple[str, dict, problems.Problem, random.Random]]:
    """Problems with unpinned members, each with a source of randomness."""
    for name in random_problems.PROFILES:
        for seed in shares.sample_seeds(CASES_PER_PROFILE, FIRST_SEED):
            label = f'seed {seed} of {name}'
            raw = random_problems.seeded(name, seed)
            problem = problems.parse(raw)
            has_some = len(problem.pinned) < len(problem.class_of)
            if has_some and not fixed.find_violated(problem):
                yield label, raw, problem, random.Random(label)


def placed() -> Iterator[tuple]:
    """The same problems, if feasible, with a plan, not the best one."""
    for label, raw, problem, rng in cases():
        plan = feasibility.solve(problem, time_budget.TimeBudget(60)).plan
        if plan is not None:
            yield label, raw, problem, rng, plan


def some(rng: random.Random, paths: set) -> set:
    """A random part of some paths."""
    return {path for path in sorted(paths) if rng.random() < 0.5}


def optimum(
    problem: problems.Problem, plan: violations.Plan
) -> violations.Plan:
    """The best plan, found by improving a given one."""
    exact = objectives.ExactSolver(problem, time_budget.TimeBudget(60))
    exact.start_from(plan)
    for _, step in exact.steps():
        step()
    return exact.plan


class ConstructionTest(unittest.TestCase):
    def test_every_plan_is_feasible_and_the_state_is_restored(self):
        for label, _, problem, _ in cases():
            greedy = squeaky_wheel.SqueakyWheel(problem)
            before = state_snapshots.of(greedy.state)
            for number in range(6):
                plan = greedy.run_iteration(respects_soft=number % 2 == 0)
                self.assertEqual(
                    before, state_snapshots.of(greedy.state), label
                )
                if plan is not None:
                    self.assertEqual([], violations.find(problem, plan), label)

    def test_best_partial_plan_has_only_temporary_violations(self):
        for label, _, problem, _ in cases():
            greedy = squeaky_wheel.SqueakyWheel(problem)
            for _ in range(4):
                greedy.run_iteration()
            if greedy.best_partial is not None:
                plan, unplaced = greedy.best_partial
                found_violations = {
                    f.code for f in violations.find(problem, plan)
                }
                self.assertLessEqual(found_violations, TEMPORARY, label)
                removed = {path for paths in unplaced for path in paths}
                self.assertEqual(set(), removed & plan.placement.keys(), label)
                self.assertNotEqual(set(), removed, label)

    def test_the_same_seed_gives_the_same_plans(self):
        for label, _, problem, _ in cases():
            first, second = (
                squeaky_wheel.SqueakyWheel(problem),
                squeaky_wheel.SqueakyWheel(problem),
            )
            for _ in range(3):
                self.assertEqual(
                    first.run_iteration(), second.run_iteration(), label
                )
            self.assertEqual(first.best_partial, second.best_partial, label)


def may_be_on(problem, eq_class, host):
    """Check whether a member of a class fits on an empty host."""
    return (
        host in eq_class.member_class.hosts
        and all(
            problem.domain(host, level) is not None
            for level in eq_class.scopes
        )
        and any(
            problem.hosts[host].count_fits(request, 1)
            for request in eq_class.member_class.options(host)
        )
    )


class HostSamplingTest(unittest.TestCase):
    def test_only_allowed_hosts_are_sampled(self):
        for label, _, problem, rng in cases():
            greedy = squeaky_wheel.SqueakyWheel(problem)
            limits = candidate_list.of_part(rng.choice((0.5, 1, 2, 8)))
            sampled = greedy.sample_hosts(limits)
            for eq_class, hosts in sampled.items():
                for host in hosts:
                    self.assertTrue(may_be_on(problem, eq_class, host), label)


class SubproblemTest(unittest.TestCase):
    """Plans of smaller problems are plans of the whole."""

    def test_plan_on_fewer_hosts_is_feasible(self):
        for label, _, problem, rng in cases():
            hosts = {
                eq_class: some(rng, set(problem.hosts))
                for eq_class in equivalence.equivalence_classes(problem)
            }
            part = subproblem.restrict_hosts(problem, hosts)
            plan = feasibility.solve(part, time_budget.TimeBudget(60)).plan
            if plan is not None:
                self.assertEqual([], violations.find(problem, plan), label)
                self._check_hosts(problem, hosts, plan, label)

    def _check_hosts(self, problem, hosts, plan, label):
        for eq_class, allowed in hosts.items():
            used = {plan.placement.get(path) for path in eq_class.members}
            self.assertLessEqual(used, {None, *allowed}, label)

    def test_plan_with_fixed_members_is_feasible_and_no_worse(self):
        for label, _, problem, rng, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            moving = some(rng, free)
            part = subproblem.fix_others(problem, plan, moving)
            fixed = plan.placement.keys() - moving
            self.assertEqual(fixed, part.pinned.keys(), label)
            better = subproblem.restore_alternatives(plan, optimum(part, plan))
            self.assertEqual([], violations.find(problem, better), label)
            self.assertGreaterEqual(
                violations.objective(problem, better),
                violations.objective(problem, plan),
                label,
            )
            for path in fixed:
                self.assertEqual(
                    (plan.placement[path], plan.alternative.get(path)),
                    (better.placement[path], better.alternative.get(path)),
                    label,
                )

    def test_plan_with_all_members_free_is_optimal(self):
        for label, raw, problem, _, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            part = subproblem.fix_others(problem, plan, free)
            best = subproblem.restore_alternatives(plan, optimum(part, plan))
            known = oracle.solve(raw)
            label = f'{label}: {best} {known}'
            reached = violations.objective(problem, best)
            moved = 0
            if problem.keeps_current:
                moved = violations.count_changes(problem, best.placement)
            self.assertEqual(
                (known.placed, known.moved),
                (reached.members - len(problem.outsiders), moved),
                label,
            )
            self.assertTrue(
                checker.close(known.soft, -float(reached.saving)), label
            )
            self.assertTrue(
                checker.close(known.preference, float(reached.preference)),
                label,
            )

    def test_costs_of_policies_alone_bound_the_optimum(self):
        is_positive = 0
        for label, raw, problem, _, plan in placed():
            bound = policy_bounds.find(
                problem, plan, time_budget.TimeBudget(60)
            )
            known = oracle.solve(raw)
            self.assertLessEqual(
                float(bound),
                known.soft + checker.TOLERANCE * max(1, known.soft),
                f'{label}: {plan} {known}',
            )
            is_positive += bound > 0
        self.assertGreater(is_positive, 0)

    def test_removed_members_break_only_spread_and_survive(self):
        # Spread and survive may depend on the removed members.
        for label, _, problem, rng, plan in placed():
            free = problem.class_of.keys() - problem.pinned.keys()
            removed = some(rng, free)
            part = subproblem.remove_members(problem, removed)
            rest = {
                p: h for p, h in plan.placement.items() if p not in removed
            }
            self.assertEqual(
                problem.class_of.keys() - removed, part.class_of.keys(), label
            )
            found_violations = violations.find(
                part, violations.Plan(rest, plan.alternative)
            )
            codes = {violation.code for violation in found_violations}
            self.assertLessEqual(codes, {'vrt.spread', 'vrt.survive'}, label)


class ReinsertionTest(unittest.TestCase):
    def test_plan_after_reinsertion_is_feasible(self):
        completed = 0
        for label, _, problem, rng, plan in placed():
            greedy = squeaky_wheel.SqueakyWheel(problem)
            partial = self._leave_out(problem, plan, rng)
            greedy.best_partial = partial
            new_plan = reinsertion.Reinsertion(greedy).run(
                time_budget.TimeBudget(60)
            )
            if new_plan is not None:
                completed += bool(partial[1])
                self.assertEqual([], violations.find(problem, new_plan), label)
        self.assertGreater(completed, 0)

    def _leave_out(self, problem, plan, rng):
        """Return a partial plan and its unplaced classes."""
        removed = [
            list(eq_class.members)
            for eq_class in equivalence.equivalence_classes(problem)
            if rng.random() < 0.5
        ]
        paths = {path for members in removed for path in members}
        placement = {
            path: host
            for path, host in plan.placement.items()
            if path not in paths
        }
        alternative = {
            path: option
            for path, option in plan.alternative.items()
            if path not in paths
        }
        return violations.Plan(placement, alternative), removed


class NeighbourhoodTest(unittest.TestCase):
    def test_every_step_is_feasible_and_no_worse(self):
        for label, _, problem, _, plan in placed():
            best = incumbent.Incumbent(problem, plan)
            steps = neighbourhood.search(best, time_budget.TimeBudget(60))
            for better, _ in zip(steps, range(6), strict=False):
                self.assertEqual([], violations.find(problem, better), label)
                self.assertGreaterEqual(
                    violations.objective(problem, better),
                    best.objective,
                    label,
                )
                best.offer(better)

    def test_the_same_seed_gives_the_same_final_plan(self):
        for number, (label, _, problem, _, plan) in enumerate(placed()):
            if number % 10 == 0:
                ends = [self._search(problem, plan) for _ in range(2)]
                self.assertEqual(*ends, label)

    def _search(self, problem, plan):
        best = incumbent.Incumbent(problem, plan)
        for better in neighbourhood.search(best, time_budget.TimeBudget(60)):
            best.offer(better)
        return best.plan

# SPDX-License-Identifier: Apache-2.0
"""The planner's decisions, compared with the oracle's.

A failure shows the problem, its profile and its seed:
``problems.seeded(profile, seed)`` draws it again.
"""

import itertools
import json
import pathlib
import unittest

import hypothesis

from tests import shares
from tests.property import checker
from tests.property import definitions
from tests.property import oracle
from tests.property import planner
from tests.property import random_problems

CASES = 2400
# A relaxation of more changes is no help to an owner (_MAX_CHANGES of relax).
MAX_CHANGES = 3


def disagreements(problem: dict, answer: dict) -> list[str]:
    """Return the differences from the oracle's optimum, [] if none."""
    found = checker.check(problem, answer)
    best = oracle.solve(problem)
    expected = 'refused' if best is None else 'placed'
    if answer['status'] != expected:
        found.append(f'the oracle says {expected}: {best}')
    if best is None:
        return (
            found
            or _conflict_disagreements(problem, answer)
            or _relaxation_disagreements(problem, answer)
        )
    if found:
        return found
    cost = answer['cost']
    for name, claimed, right in (
        ('placed', len(answer['placement']), best.placed),
        ('members_bound', _members_bound(answer, best), best.placed),
        ('changes', _counted_changes(problem, answer), best.moved),
        ('soft', cost['soft'], best.soft),
        ('bound', cost['bound'], best.soft),
        ('preference', cost['preference'], best.preference),
    ):
        if not checker.close(claimed, right):
            found.append(f'{name} is {claimed}, the oracle finds {right}')
    return found or _order_disagreements(problem, answer, best)


def _members_bound(answer: dict, best: oracle.Optimum) -> int:
    """Return the bound, which is told where some may be left out."""
    bound: int = answer['stats'].get('members_bound', best.placed)
    return bound


def _counted_changes(problem: dict, answer: dict) -> int:
    """Return the number of changes if it counts before the cost, else 0."""
    counts = problem.get('objective') == 'changes'
    return answer['cost'].get('changes', 0) if counts else 0


def _conflict_disagreements(problem: dict, answer: dict) -> list[str]:
    conflict = answer['conflict']
    if not oracle.excludes(problem, conflict):
        return ['the conflict alone leaves a plan']
    found = [
        f'the conflict stays one without {item}'
        for item in conflict
        if oracle.excludes(problem, [i for i in conflict if i is not item])
    ]
    # There is time enough to find a minimal one.
    return found if answer['minimal'] else [*found, 'it is not minimal']


def _relaxation_disagreements(problem: dict, answer: dict) -> list[str]:
    offered = [entry['change'] for entry in answer['relaxations']]
    found = []
    if not offered and _a_few_changes_help(problem):
        found.append('no change is offered')
    found += [
        f'no plan in spite of {change}'
        for change in offered
        if oracle.solve(oracle.relaxed(problem, change)) is None
    ]
    found += [
        f'more would fit than {change}'
        for change in offered
        if 'members' in change and _allows_one_more(problem, change)
    ]
    # There is time enough to find every single change, and some otherwise.
    single = [
        change
        for change in _single_changes(answer['conflict'])
        if oracle.solve(oracle.relaxed(problem, change)) is not None
    ]
    known = [{**c, 'min_count': 0} if 'members' in c else c for c in offered]
    found += [f'{c} is not offered' for c in single if c not in known]
    return found


def _a_few_changes_help(problem: dict) -> bool:
    """Return whether as many changes as an owner is told of allow a plan."""
    softened = {
        (rule.at, rule.policy['type'], rule.policy['scope'])
        for rule in definitions.rules(problem)
        if rule.policy.get('strict', True)
    }
    changes = [
        {'at': at, 'policy': kind, 'scope': scope, 'strict': False}
        for at, kind, scope in softened
    ]
    # Members of a class, or of all sets, can be one change.
    paths = {member.member_set for member in definitions.members(problem)}
    changes.append({'min_counts': dict.fromkeys(paths, 0)})
    return any(
        oracle.solve(oracle.relaxed(problem, {'together': list(together)}))
        for together in itertools.combinations(
            changes, min(MAX_CHANGES, len(changes))
        )
    )


def _allows_one_more(problem: dict, change: dict) -> bool:
    more = {**change, 'min_count': change['min_count'] + 1}
    return oracle.solve(oracle.relaxed(problem, more)) is not None


def _single_changes(conflict: list[dict]) -> list[dict]:
    """Return the changes that relax one item of a conflict each."""
    return [
        {
            'at': item['at'],
            'policy': item['policy']['type'],
            'scope': item['policy']['scope'],
            'strict': False,
        }
        if item['kind'] == 'policy'
        else {'at': item['at'], 'members': item['members'], 'min_count': 0}
        for item in conflict
    ]


def _order_disagreements(
    problem: dict, answer: dict, best: oracle.Optimum
) -> list[str]:
    smallest = best.smallest[frozenset(answer['placement'])]
    found = [
        f'{late} is placed, its equal {early} is not'
        for early in answer['unplaced']
        for late in answer['placement']
        if _follows(problem, late, early)
    ]
    if answer['placement'] != smallest:
        found.append(f'a smaller plan of the same value: {smallest}')
    return found


def _follows(problem: dict, late: str, early: str) -> bool:
    """Return whether two members differ only in number, late being higher."""
    members = {member.path: member for member in definitions.members(problem)}
    order = list(members)
    current = problem.get('current', {})
    told_apart = late in problem['pinned'] or any(
        (late in side) != (early in side)
        or (late in side and rule.policy['type'] in definitions.ASYMMETRIC)
        for rule in definitions.rules(problem)
        for side in rule.sides
    )
    if problem.get('objective') == 'changes':
        told_apart |= current.get(late) != current.get(early)
    return (
        members[late].member_set == members[early].member_set
        and order.index(late) > order.index(early)
        and not told_apart
    )


class SeededTest(unittest.TestCase):
    """Thousands of seeded problems, one test for each profile."""

    def test_every_profile_has_a_test(self):
        tests = {
            f'test_profile_{name}_matches_the_oracle'
            for name in random_problems.PROFILES
        }
        self.assertLessEqual(tests, {*dir(self)})

    def _compare(self, name: str) -> None:
        for seed in shares.sample_seeds(
            CASES // len(random_problems.PROFILES)
        ):
            problem = random_problems.seeded(name, seed)
            answer = planner.decide(problem)
            found = disagreements(problem, answer)
            if found:
                self.fail(
                    f'seed {seed} of {name}\n{json.dumps(problem)}\n'
                    f'{json.dumps(answer)}\n' + '\n'.join(found)
                )

    def test_profile_capacity_matches_the_oracle(self):
        self._compare('capacity')

    def test_profile_changes_matches_the_oracle(self):
        self._compare('changes')

    def test_profile_costs_matches_the_oracle(self):
        self._compare('costs')

    def test_profile_deep_matches_the_oracle(self):
        self._compare('deep')

    def test_profile_no_domains_matches_the_oracle(self):
        self._compare('no_domains')

    def test_profile_outsiders_matches_the_oracle(self):
        self._compare('outsiders')

    def test_profile_pins_matches_the_oracle(self):
        self._compare('pins')

    def test_profile_policies_matches_the_oracle(self):
        self._compare('policies')

    def test_profile_relationships_matches_the_oracle(self):
        self._compare('relationships')


class RegressionTest(unittest.TestCase):
    """Minimal problems that the planner once decided wrongly."""

    def test_planner_decides_like_the_oracle(self):
        files = sorted(pathlib.Path(__file__).with_name('found').iterdir())
        self.assertGreater(len(files), 0)
        for file in files:
            with self.subTest(file.name):
                problem = json.loads(file.read_text())
                answer = planner.decide(problem)
                self.assertEqual([], disagreements(problem, answer))


class HypothesisTest(unittest.TestCase):
    """Problems drawn by hypothesis, which shrinks a failing one."""

    @shares.with_share_of_examples(100)
    @hypothesis.given(random_problems.drawn(random_problems.Profile()))
    def test_planner_decides_like_the_oracle(self, problem):
        answer = planner.decide(problem)
        hypothesis.event(answer['status'])
        self.assertEqual([], disagreements(problem, answer), problem)


class ChildTest(unittest.TestCase):
    """The child process is the same planner."""

    def test_child_decides_like_this_process(self):
        for name in random_problems.PROFILES:
            problem = random_problems.seeded(name, CASES)
            here = planner.decide(problem)
            there = planner.decide_in_child(problem)
            del here['stats'], there['stats']
            self.assertEqual(here, there, problem)


class PlantedTest(unittest.TestCase):
    """Larger problems, where a plan for every member is known."""

    def test_plan_is_never_worse_than_the_planted_one(self):
        for seed in shares.sample_seeds(CASES // 40):
            problem, plan = random_problems.planted(seed)
            answer = planner.decide(problem)
            label = f'planted seed {seed}\n{json.dumps(problem)}\n{answer}'
            self.assertEqual('placed', answer['status'], label)
            self.assertEqual([], checker.check(problem, answer), label)
            self.assertEqual(len(plan), len(answer['placement']), label)
            known = _objective(problem, plan)
            self.assertLessEqual(
                _objective(problem, answer['placement']), known, label
            )
            self.assertLessEqual(answer['cost']['bound'], known[0], label)


def _objective(problem: dict, plan: dict[str, str]) -> tuple[float, float]:
    """The costs to minimise once all members are placed."""
    cloud = definitions.Cloud(problem)
    soft = sum(
        definitions.cost(cloud, rule, plan)
        for rule in definitions.rules(problem)
        if not rule.strict
    )
    members = definitions.members(problem)
    preference = definitions.preference(problem, members, plan)
    return round(soft, 6), round(-preference, 6)

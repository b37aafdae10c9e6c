# SPDX-License-Identifier: Apache-2.0
"""Relations between the answers to two related problems.

No oracle is needed here: each test changes a problem in a way whose effect
on the answer is known beforehand.
"""

from collections.abc import Iterator
import copy
import json
import random
import sys
import unittest
from unittest import mock

from nova_groupext.solver import tuning
from tests import shares
from tests.property import checker
from tests.property import definitions
from tests.property import planner
from tests.property import random_problems

CASES = 60


def cases() -> Iterator[tuple[random.Random, dict]]:
    """Problems, each with a source of randomness for its change."""
    profile = random_problems.Profile(policies=3, relationships=2, pinned=0.2)
    for seed in shares.sample_seeds(CASES):
        rng = random.Random(seed)
        yield rng, random_problems.problem(rng, profile)


def objective(answer: dict) -> tuple:
    """Status, members placed, soft cost and preference."""
    if answer['status'] != 'placed':
        return (answer['status'],)
    cost = answer['cost']
    return (
        'placed',
        len(answer['placement']),
        round(cost['soft'], 6),
        round(cost['preference'], 6),
    )


def plan(answer: dict) -> tuple:
    """The objective and the placement that reaches it."""
    return objective(answer), answer['placement']


def essence(answer: dict) -> dict:
    """The answer without its statistics, with its sets sorted."""
    found = {key: answer[key] for key in answer if key != 'stats'}
    for key in ('conflict', 'relaxations', 'violations'):
        found[key] = sorted(
            json.dumps(item, sort_keys=True) for item in answer.get(key, [])
        )
    return found


def shuffled(rng: random.Random, value: object) -> object:
    """The same JSON value with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(rng, item) for item in value]
    if not isinstance(value, dict):
        return value
    keys = rng.sample(list(value), len(value))
    return {key: shuffled(rng, value[key]) for key in keys}


def renamed(value: object, names: dict[str, str]) -> object:
    """The same JSON value with other host ids, as keys and as values."""
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {
            names.get(key, key): renamed(item, names)
            for key, item in value.items()
        }
    return names.get(value, value) if isinstance(value, str) else value


def without_host(problem: dict, host: str) -> dict:
    """The problem of a cloud that never had the host."""
    smaller = copy.deepcopy(problem)
    smaller['hosts'] = [
        other for other in smaller['hosts'] if other['id'] != host
    ]
    for spec in smaller['classes'].values():
        spec.get('scores', {}).pop(host, None)
        spec.get('alternatives', {}).pop(host, None)
        if host in spec.get('hosts', []):
            spec['hosts'].remove(host)
    return smaller


class SameProblemTest(unittest.TestCase):
    """Another way to write a problem is the same problem."""

    def test_same_problem_has_the_same_answer(self):
        for _, problem in cases():
            once, again = planner.decide(problem), planner.decide(problem)
            self.assertEqual(essence(once), essence(again), problem)

    def test_order_of_hosts_and_keys_does_not_matter(self):
        for rng, problem in cases():
            other = shuffled(rng, problem)
            rng.shuffle(other['hosts'])
            for spec in other['classes'].values():
                rng.shuffle(spec.get('hosts', []))
            self.assertEqual(
                essence(planner.decide(problem)),
                essence(planner.decide(other)),
                (problem, other),
            )

    def test_order_of_relationship_ends_does_not_matter(self):
        for _, problem in cases():
            other = copy.deepcopy(problem)
            for _, node in definitions.nodes(other):
                for relation in node.get('relationships', []):
                    relation['between'].reverse()
            self.assertEqual(
                plan(planner.decide(problem)),
                plan(planner.decide(other)),
                problem,
            )

    def test_names_of_hosts_do_not_change_the_objective(self):
        for rng, problem in cases():
            hosts = [host['id'] for host in problem['hosts']]
            numbers = rng.sample(range(100), len(hosts))
            names = {
                host: f'host-{number}'
                for host, number in zip(hosts, numbers, strict=True)
            }
            other = renamed(problem, names)
            self.assertEqual(
                objective(planner.decide(problem)),
                objective(planner.decide(other)),
                (problem, names),
            )

    def test_doubled_weights_double_only_the_cost(self):
        for _, problem in cases():
            doubled = copy.deepcopy(problem)
            for rule in definitions.rules(doubled):
                rule.policy['weight'] = 2 * rule.weight
            answer, other = planner.decide(problem), planner.decide(doubled)
            self.assertEqual(answer['placement'], other['placement'], problem)
            if answer['status'] == 'placed':
                soft = 2 * answer['cost']['soft']
                self.assertTrue(checker.close(soft, other['cost']['soft']))


class SameLargeProblemTest(SameProblemTest):
    """The same with the search for large problems."""

    def setUp(self):
        super().setUp()
        # Fewer of them: each takes a while.
        for module, name, value in (
            (tuning, 'SMALL_VARIABLES', 0),
            (sys.modules[__name__], 'CASES', CASES // 3),
        ):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)


class ChangedCloudTest(unittest.TestCase):
    """Every policy looks only at domains its members use.

    So an empty host, without members or foreign servers, makes no plan
    better or worse, whatever its domains are.
    """

    def test_added_empty_host_makes_no_plan_worse(self):
        for rng, problem in cases():
            larger = copy.deepcopy(problem)
            domains = rng.choice(problem['hosts'])['domains']
            host = {'id': 'new', 'domains': domains, 'free': {'VCPU': 99}}
            larger['hosts'].append(host)
            before, after = planner.decide(problem), planner.decide(larger)
            if before['status'] == 'placed':
                self.assert_as_good(after, before, problem)

    def test_a_removed_empty_host_changes_nothing(self):
        for problem, before, host in self._unused_hosts():
            if not host.get('foreign', False):
                after = planner.decide(without_host(problem, host['id']))
                self.assertEqual(plan(before), plan(after), problem)

    def test_removed_foreign_host_makes_no_plan_worse(self):
        for problem, before, host in self._unused_hosts():
            smaller = without_host(problem, host['id'])
            after = planner.decide(smaller)
            self.assert_as_good(after, before, problem)
            self.assertEqual([], checker.check(smaller, after), problem)

    def _unused_hosts(self) -> Iterator[tuple[dict, dict, dict]]:
        """One host per placed problem that its plan leaves empty."""
        for rng, problem in cases():
            answer = planner.decide(problem)
            used = answer['placement'].values()
            unused = [
                host for host in problem['hosts'] if host['id'] not in used
            ]
            if answer['status'] == 'placed' and unused:
                yield problem, answer, rng.choice(unused)

    def assert_as_good(self, answer, other, problem):
        self.assertEqual('placed', answer['status'], problem)
        _, placed, soft, preference = objective(answer)
        _, least, most, score = objective(other)
        self.assertLessEqual(
            (-placed, soft, -preference), (-least, most, -score), problem
        )


class ChangedRulesTest(unittest.TestCase):
    def test_strict_policy_made_soft_places_no_fewer_members(self):
        for rng, problem in cases():
            softer = copy.deepcopy(problem)
            strict = [r for r in definitions.rules(softer) if r.strict]
            before = planner.decide(problem)
            if strict and before['status'] == 'placed':
                rng.choice(strict).policy['strict'] = False
                after = planner.decide(softer)
                self.assertEqual('placed', after['status'], problem)
                self.assertGreaterEqual(
                    len(after['placement']), len(before['placement']), problem
                )

    def test_a_met_soft_policy_made_strict_changes_nothing(self):
        for _, problem in cases():
            before = planner.decide(problem)
            stricter = copy.deepcopy(problem)
            cloud = definitions.Cloud(problem)
            for rule in definitions.rules(stricter):
                if definitions.meets(cloud, rule, before['placement']):
                    rule.policy['strict'] = True
            if before['status'] == 'placed':
                after = planner.decide(stricter)
                self.assertEqual(plan(before), plan(after), problem)

# SPDX-License-Identifier: Apache-2.0
"""Do the stages for large problems decide what the definitions say?

Small problems go straight to the programme with all hosts. Here they go the
way of the large ones, so that the oracle can judge attempts, repairs,
programmes with some hosts, and neighbourhoods.

A failure shows its problem; ``problems.seeded(profile, seed)`` draws it again.
"""

from collections.abc import Iterator
import contextlib
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import feasible
from nova_groupext.solver.search import improve
from nova_groupext.solver.search import neighbourhood
from tests import shares
from tests.property import checker
from tests.property import oracle
from tests.property import planner
from tests.property import random_problems
from tests.property import test_planner_oracle

CASES_PER_PROFILE = 300 // len(random_problems.PROFILES)

# Others than those that the programme with all hosts is compared on.
FIRST_SEED = 2_000_000

# A process of its own, in which sets have another order.
SCRIPT = 'from tests.property import test_stages; test_stages.tell()'

# Seconds; what is cut short depends on the machine, but never the truth.
LITTLE_TIME = (0, 0.002, 0.01, 0.05)


def some(share: int = 1) -> Iterator[tuple[str, dict]]:
    """Problems of all profiles, each with what tells it from the others."""
    for name in random_problems.PROFILES:
        for seed in shares.seeds(CASES_PER_PROFILE // share, FIRST_SEED):
            yield drawn(name, seed)


def drawn(name: str, seed: int) -> tuple[str, dict]:
    problem = random_problems.seeded(name, seed)
    return f'seed {seed} of {name}\n{json.dumps(problem)}', problem


@contextlib.contextmanager
def treated_as_large(**constants: tuple) -> Iterator[None]:
    """All problems are large; constants are (module, value) by name."""
    constants = {'SMALL': (feasible, 0), **constants}
    with contextlib.ExitStack() as stack:
        for name, (module, value) in constants.items():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def disagreements(problem: dict, answer: dict) -> list[str]:
    """Where an answer claims what the oracle denies, [] if nowhere."""
    is_short = answer['stats']['cut_short']
    is_refused = answer['status'] == 'refused'
    if not is_short and (is_refused or answer['stats']['stage'] == 'ties'):
        return test_planner_oracle.disagreements(problem, answer)
    found = checker.check(problem, answer)
    if not found and is_refused:
        found = _false_reasons(problem, answer)
    elif not found and answer['status'] == 'placed':
        found = _false_claims(answer, oracle.solve(problem))
    return found


def _false_reasons(problem: dict, answer: dict) -> list[str]:
    """What a refusal that was not explained to the end says wrongly."""
    conflict = answer['conflict']
    found = [
        f'no plan in spite of {entry["change"]}'
        for entry in answer['relaxations']
        if oracle.solve(oracle.relaxed(problem, entry['change'])) is None
    ]
    if not oracle.excludes(problem, conflict):
        found.append('the conflict alone leaves a plan')
    elif answer['minimal'] and any(
        oracle.excludes(problem, [i for i in conflict if i is not item])
        for item in conflict
    ):
        found.append('the conflict is not minimal')
    return found


def _false_claims(answer: dict, best: oracle.Optimum | None) -> list[str]:
    """What a plan that may not be the best claims wrongly."""
    if best is None:
        return ['the oracle knows no plan']
    cost = answer['cost']
    placed = len(answer['placement'])
    told = placed, -cost['soft'], cost['preference']
    known = best.placed, -best.soft, best.preference
    is_same = all(map(checker.close, told, known))
    if not is_same and not answer['stats']['cut_short']:
        return [f'{told} is not the best: {known}']
    if not is_same and told > known:
        return [f'{told} is better than the best: {known}']
    # It is about plans that place as many members.
    is_above = cost['bound'] > best.soft + checker.TOLERANCE
    if placed == best.placed and is_above:
        return [f'the bound is {cost["bound"]}, the least {best.soft}']
    return []


def tell() -> None:
    """Print what some problems come to, one a line."""
    for _, problem in some(share=8):
        with treated_as_large():
            told = untimed(planner.decide(problem))
        sys.stdout.write(json.dumps(told) + '\n')


def untimed(answer: dict) -> dict:
    """The answer without what differs each time."""
    stats = {
        key: value
        for key, value in answer['stats'].items()
        if 'seconds' not in key
    }
    return {**answer, 'stats': stats}


class LargePathTest(unittest.TestCase):
    """With time enough every problem is decided as if it were small."""

    def _compare(self, name: str) -> None:
        for seed in shares.seeds(CASES_PER_PROFILE, FIRST_SEED):
            told, problem = drawn(name, seed)
            with treated_as_large():
                answer = planner.decide(problem)
            self.assertNotEqual('undecided', answer['status'], told)
            self.assertFalse(answer['stats']['cut_short'], told)
            self.assertEqual([], disagreements(problem, answer), told)

    def test_capacity(self):
        self._compare('capacity')

    def test_costs(self):
        self._compare('costs')

    def test_deep(self):
        self._compare('deep')

    def test_homeless(self):
        self._compare('homeless')

    def test_pins(self):
        self._compare('pins')

    def test_policies(self):
        self._compare('policies')

    def test_relationships(self):
        self._compare('relationships')

    def test_planted(self):
        self._compare_planted(random_problems.PLANTED)

    def test_deep_and_planted(self):
        self._compare_planted(random_problems.DEEP_AND_PLANTED)

    def _compare_planted(self, profile: random_problems.Profile) -> None:
        for seed in shares.seeds(15, FIRST_SEED):
            problem, plan = random_problems.planted(seed, profile)
            with treated_as_large():
                answer = planner.decide(problem)
            told = f'planted seed {seed}\n{json.dumps(problem)}'
            self.assertEqual('placed', answer['status'], told)
            self.assertEqual([], checker.check(problem, answer), told)
            self.assertEqual(len(plan), len(answer['placement']), told)
            known = float(violations.soft_cost(problems.parse(problem), plan))
            cost = answer['cost']
            self.assertLessEqual(cost['soft'], known + 1e-6, told)
            self.assertLessEqual(cost['bound'], known + 1e-6, told)


class SameAnswerTest(unittest.TestCase):
    """The same input gives the same answer, in every process."""

    def test_twice(self):
        for told, problem in some(share=8):
            with treated_as_large():
                answers = [untimed(planner.decide(problem)) for _ in range(2)]
            self.assertEqual(*answers, told)

    def test_without_a_proof_too(self):
        for told, problem in some(share=8):
            with treated_as_large(_LARGE=(improve, -1)):
                answers = [untimed(planner.decide(problem)) for _ in range(2)]
            self.assertEqual(*answers, told)

    def test_in_another_process(self):
        told = []
        for seed in ('1', '2'):
            environment = {**os.environ, 'PYTHONHASHSEED': seed}
            told.append(
                subprocess.check_output(
                    [sys.executable, '-c', SCRIPT], env=environment, text=True
                ).splitlines()
            )
        self.assertGreater(len(told[0]), 0)
        self.assertEqual(*told)


class CutShortTest(unittest.TestCase):
    """What is found without a proof is right, and says that it is not one."""

    def test_without_the_programme_with_all_hosts_at_the_end(self):
        for told, problem in some(share=4):
            with treated_as_large(_LARGE=(improve, -1)):
                answer = planner.decide(problem)
            self.assertNotEqual('undecided', answer['status'], told)
            self.assertEqual([], disagreements(problem, answer), told)

    def test_with_hardly_any_time_for_each_programme(self):
        slices = {
            '_SLICE': (neighbourhood, 0.0),
            '_LARGE': (improve, -1),
            '_MOST_SEATS': (reinsertion, 1),
        }
        for told, problem in some(share=8):
            with treated_as_large(**slices):
                answer = planner.decide(problem)
            self.assertEqual([], disagreements(problem, answer), told)

    def test_with_hardly_any_time_at_all(self):
        for number, (told, problem) in enumerate(some(share=2)):
            problem['time_limit'] = LITTLE_TIME[number % len(LITTLE_TIME)]
            with treated_as_large():
                answer = planner.decide(problem)
            self.assertEqual([], disagreements(problem, answer), told)


class FeasibleTest(unittest.TestCase):
    """Is there any plan? Asked also where a comparison would tell."""

    def test_it_finds_a_plan_where_there_is_one(self):
        for told, problem in some():
            parsed = problems.parse(problem)
            if fixed.broken(parsed):
                # It trusts pins.
                continue
            # Most of the time goes into repairs that are in vain.
            with treated_as_large(_MOST_FAILURES=(reinsertion, 10)):
                verdict = feasible.find(parsed, time_budget.TimeBudget(60))
            is_possible = oracle.solve(problem) is not None
            self.assertEqual(is_possible, verdict.plan is not None, told)
            self.assertEqual(not is_possible, verdict.is_impossible, told)
            if is_possible:
                self.assertEqual(
                    [], violations.find(parsed, verdict.plan), told
                )

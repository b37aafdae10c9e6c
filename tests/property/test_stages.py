# SPDX-License-Identifier: Apache-2.0
"""The stages for large problems, compared with the oracle.

Small problems go straight to the program with all hosts. Here they are
treated as large ones, so that the oracle can judge construction, reinsertion,
programs with some hosts and neighbourhood search.

A failure shows its problem; ``problems.seeded(profile, seed)`` draws it again.
"""

from collections.abc import Iterator
import contextlib
import copy
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from nova_groupext.solver import tuning
from nova_groupext.solver.bounds import fixed
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import reinsertion
from nova_groupext.solver.search import feasible
from tests import shares
from tests.property import checker
from tests.property import oracle
from tests.property import planner
from tests.property import random_problems
from tests.property import test_planner_oracle

CASES_PER_PROFILE = 300 // len(random_problems.PROFILES)

# Others than those that the program with all hosts is compared on.
FIRST_SEED = 2_000_000

# A process of its own, in which sets have another order.
SCRIPT = 'from tests.property import test_stages; test_stages.print_answers()'

# Seconds; what is cut short depends on the machine, but never the truth.
LITTLE_TIME = (0, 0.002, 0.01, 0.05)


def some(share: int = 1) -> Iterator[tuple[str, dict]]:
    """Problems of all profiles, each with a label for failures."""
    for name in random_problems.PROFILES:
        for seed in shares.sample_seeds(
            CASES_PER_PROFILE // share, FIRST_SEED
        ):
            yield drawn(name, seed)


def drawn(name: str, seed: int) -> tuple[str, dict]:
    problem = random_problems.seeded(name, seed)
    return f'seed {seed} of {name}\n{json.dumps(problem)}', problem


@contextlib.contextmanager
def treated_as_large(**constants: tuple) -> Iterator[None]:
    """All problems are large; constants are (module, value) by name."""
    constants = {'SMALL_VARIABLES': (tuning, 0), **constants}
    with contextlib.ExitStack() as stack:
        for name, (module, value) in constants.items():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def disagreements(problem: dict, answer: dict) -> list[str]:
    """Return the claims of an answer that the oracle denies."""
    is_short = answer['stats']['cut_short']
    is_refused = answer['status'] == 'refused'
    if not is_short and (
        is_refused or answer['stats']['stage'] == 'tie-breaking'
    ):
        return test_planner_oracle.disagreements(problem, answer)
    found = checker.check(problem, answer)
    if not found and is_refused:
        found = _false_reasons(problem, answer)
    elif not found and answer['status'] == 'placed':
        found = _false_claims(answer, oracle.solve(problem))
    return found


def _false_reasons(problem: dict, answer: dict) -> list[str]:
    """Return the wrong claims of a refusal with a partial explanation."""
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
    """Return the wrong claims of a plan that may be suboptimal."""
    if best is None:
        return ['the oracle knows no plan']
    cost = answer['cost']
    placed = len(answer['placement'])
    claimed = placed, -cost['soft'], cost['preference']
    known = best.placed, -best.soft, best.preference
    is_same = all(map(checker.close, claimed, known))
    if not is_same and not answer['stats']['cut_short']:
        return [f'{claimed} is not the best: {known}']
    if not is_same and claimed > known:
        return [f'{claimed} is better than the best: {known}']
    # It is about plans that place as many members.
    is_above = cost['bound'] > best.soft + checker.TOLERANCE
    if placed == best.placed and is_above:
        return [f'the bound is {cost["bound"]}, the least {best.soft}']
    return []


def print_answers() -> None:
    """Print the answers to some problems, one per line."""
    for _, problem in some(share=8):
        with treated_as_large():
            answer = untimed(planner.decide(problem))
        sys.stdout.write(json.dumps(answer) + '\n')


def untimed(answer: dict) -> dict:
    """The answer without its durations."""
    stats = {
        key: value
        for key, value in answer['stats'].items()
        if 'seconds' not in key
    }
    return {**answer, 'stats': stats}


class LargePathTest(unittest.TestCase):
    """With enough time every problem is decided as if it were small."""

    def _compare(self, name: str) -> None:
        for seed in shares.sample_seeds(CASES_PER_PROFILE, FIRST_SEED):
            label, problem = drawn(name, seed)
            with treated_as_large():
                answer = planner.decide(problem)
            self.assertNotEqual('undecided', answer['status'], label)
            self.assertFalse(answer['stats']['cut_short'], label)
            self.assertEqual([], disagreements(problem, answer), label)

    def test_profile_capacity_matches_the_oracle(self):
        self._compare('capacity')

    def test_profile_costs_matches_the_oracle(self):
        self._compare('costs')

    def test_profile_deep_matches_the_oracle(self):
        self._compare('deep')

    def test_profile_no_domains_matches_the_oracle(self):
        self._compare('no_domains')

    def test_profile_pins_matches_the_oracle(self):
        self._compare('pins')

    def test_profile_policies_matches_the_oracle(self):
        self._compare('policies')

    def test_profile_relationships_matches_the_oracle(self):
        self._compare('relationships')

    def test_planted_problems_have_a_plan_as_good_as_planted(self):
        self._compare_planted(random_problems.PLANTED)

    def test_deep_problems_have_a_plan_as_good_as_planted(self):
        self._compare_planted(random_problems.DEEP_AND_PLANTED)

    def _compare_planted(self, profile: random_problems.Profile) -> None:
        for seed in shares.sample_seeds(15, FIRST_SEED):
            problem, plan = random_problems.planted(seed, profile)
            with treated_as_large():
                answer = planner.decide(problem)
            label = f'planted seed {seed}\n{json.dumps(problem)}'
            self.assertEqual('placed', answer['status'], label)
            self.assertEqual([], checker.check(problem, answer), label)
            self.assertEqual(len(plan), len(answer['placement']), label)
            known = float(violations.soft_cost(problems.parse(problem), plan))
            cost = answer['cost']
            self.assertLessEqual(cost['soft'], known + 1e-6, label)
            self.assertLessEqual(cost['bound'], known + 1e-6, label)


class SameAnswerTest(unittest.TestCase):
    """The same input gives the same answer, in every process."""

    def test_second_run_gives_the_same_answer(self):
        for label, problem in some(share=8):
            with treated_as_large():
                answers = [untimed(planner.decide(problem)) for _ in range(2)]
            self.assertEqual(*answers, label)

    def test_second_run_without_a_proof_gives_the_same_answer(self):
        for label, problem in some(share=8):
            with treated_as_large(MAX_EXACT_VARIABLES=(tuning, -1)):
                answers = [untimed(planner.decide(problem)) for _ in range(2)]
            self.assertEqual(*answers, label)

    def test_another_process_gives_the_same_answer(self):
        outputs = []
        for seed in ('1', '2'):
            environment = {**os.environ, 'PYTHONHASHSEED': seed}
            outputs.append(
                subprocess.check_output(
                    [sys.executable, '-c', SCRIPT], env=environment, text=True
                ).splitlines()
            )
        self.assertGreater(len(outputs[0]), 0)
        self.assertEqual(*outputs)


class CutShortTest(unittest.TestCase):
    """Answers without a proof of optimality are right and claim none."""

    def test_answer_without_the_final_program_is_right(self):
        for label, problem in some(share=4):
            with treated_as_large(MAX_EXACT_VARIABLES=(tuning, -1)):
                answer = planner.decide(problem)
            self.assertNotEqual('undecided', answer['status'], label)
            self.assertEqual([], disagreements(problem, answer), label)

    def test_answer_with_minimal_time_slices_is_right(self):
        slices = {
            'NEIGHBOURHOOD_SECONDS': (tuning, 0.0),
            'MAX_EXACT_VARIABLES': (tuning, -1),
            '_MAX_VARIABLES': (reinsertion, 1),
        }
        for label, problem in some(share=8):
            with treated_as_large(**slices):
                answer = planner.decide(problem)
            self.assertEqual([], disagreements(problem, answer), label)

    def test_answer_with_a_minimal_time_limit_is_right(self):
        for number, (label, problem) in enumerate(some(share=2)):
            problem['time_limit'] = LITTLE_TIME[number % len(LITTLE_TIME)]
            with treated_as_large():
                answer = planner.decide(problem)
            self.assertEqual([], disagreements(problem, answer), label)


class MembersTest(unittest.TestCase):
    """More freedom never costs members."""

    def test_no_fewer_members_come_than_with_a_tighter_minimum(self):
        compared = 0
        for label, problem in some(share=4):
            tighter = copy.deepcopy(problem)
            for member_set in _member_sets(tighter['topology']):
                member_set['min_count'] = member_set.get('count', 1)
            with treated_as_large(MAX_EXACT_VARIABLES=(tuning, -1)):
                strict = planner.decide(tighter)
                if strict['status'] == 'placed' and tighter != problem:
                    answer = planner.decide(problem)
                    self.assertEqual(
                        len(strict['placement']),
                        len(answer['placement']),
                        label,
                    )
                    compared += 1
        self.assertGreater(compared, 0)


def _member_sets(node: dict) -> Iterator[dict]:
    yield from node.get('members', {}).values()
    for inner in node.get('groups', {}).values():
        yield from _member_sets(inner)


class FeasibleTest(unittest.TestCase):
    """The feasibility search, run even if bounds would decide."""

    def test_plan_is_found_exactly_if_one_exists(self):
        for label, problem in some():
            parsed = problems.parse(problem)
            if fixed.find_violated(parsed):
                # It trusts pins.
                continue
            # Most of the time goes into repairs that are in vain.
            with treated_as_large(_MAX_FAILURES=(reinsertion, 10)):
                verdict = feasible.find(parsed, time_budget.TimeBudget(60))
            is_possible = oracle.solve(problem) is not None
            self.assertEqual(is_possible, verdict.plan is not None, label)
            self.assertEqual(not is_possible, verdict.is_infeasible, label)
            if is_possible:
                self.assertEqual(
                    [], violations.find(parsed, verdict.plan), label
                )

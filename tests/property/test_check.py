# SPDX-License-Identifier: Apache-2.0
"""``nova-groupext-plan --check`` compared with the tests' own checker.

The planner's answers pass. A tampered answer passes exactly if the tests' own
checker finds no fault in it.
"""

import copy
import json
import random
import unittest

import hypothesis
from hypothesis import strategies

from nova_groupext.solver.language import validation
from nova_groupext.solver.model import problems
from nova_groupext.solver.verify import answer_schema
from nova_groupext.solver.verify import verify
from tests import shares
from tests.property import checker
from tests.property import mutants
from tests.property import oracle
from tests.property import planner
from tests.property import random_problems

CASES = 60

#: So many that some leave the answer right, however few cases are drawn.
CHANGES = 8


def complaints(problem: dict, answer: dict) -> list:
    """Return the command's findings about an answer."""
    raw = json.loads(json.dumps(answer))
    return list(
        verify.findings(problems.parse(problem), answer_schema.parse(raw))
    )


def tampered(problem: dict, answer: dict, draw: random.Random) -> dict:
    """Return an answer with one change, after which it may still be right."""
    answer = copy.deepcopy(answer)
    placement = answer['placement']
    host = draw.choice(problem['hosts'])['id']
    path = draw.choice([*placement, *answer['unplaced']])
    kind = draw.randrange(5)
    if kind == 0:
        answer['cost'][draw.choice(['soft', 'bound', 'preference'])] += 0.5
    elif kind == 1 and answer['violations']:
        answer['violations'].pop()
    elif kind == 2:
        answer['alternative'][path] = draw.randrange(3)
    else:
        if path in answer['unplaced']:
            answer['unplaced'].remove(path)
        placement[path] = host
        if kind == 3:
            _correct_costs(problem, answer)
    return answer


def _correct_costs(problem: dict, answer: dict) -> None:
    """Correct the costs, so that only the placement may be wrong."""
    for finding in complaints(problem, answer):
        _, part, key = [*finding.where.split('.'), None][:3]
        if part == 'cost' and finding.text.startswith('must be '):
            answer['cost'][key] = float(finding.text.split()[-1])


@strategies.composite
def mutated(draw):
    """A problem, and its answer with random mutations."""
    names = strategies.sampled_from(sorted(random_problems.PROFILES))
    problem = random_problems.seeded(
        draw(names), draw(strategies.integers(0, 50))
    )
    answer = json.loads(json.dumps(planner.decide(problem)))
    for _ in range(draw(strategies.integers(1, 2))):
        mutants.change(draw, answer)
    return problem, answer


class CheckTest(unittest.TestCase):
    def test_answer_of_the_planner_passes(self):
        for profile in random_problems.PROFILES:
            for seed in shares.sample_seeds(CASES):
                problem = random_problems.seeded(profile, seed)
                found = complaints(problem, planner.decide(problem))
                self.assertEqual([], found, (profile, seed))

    def test_tampered_answer_passes_only_if_it_is_right(self):
        is_right = 0
        for profile in random_problems.PROFILES:
            for seed in shares.sample_seeds(CASES):
                problem = random_problems.seeded(profile, seed)
                answer = planner.decide(problem)
                draw = random.Random(seed)
                for _ in range(CHANGES if answer['placement'] else 0):
                    changed = tampered(problem, answer, draw)
                    found = complaints(problem, changed)
                    expected = checker.check(problem, changed)
                    is_right += not expected
                    self.assertEqual(
                        bool(expected),
                        bool(found),
                        (profile, seed, changed, expected, found),
                    )
        self.assertGreater(is_right, 0)

    def test_reduced_conflict_passes_only_if_it_excludes_a_plan(self):
        for profile in random_problems.PROFILES:
            for seed in shares.sample_seeds(CASES):
                problem = random_problems.seeded(profile, seed)
                answer = planner.decide(problem)
                conflict = answer['conflict']
                draw = random.Random(seed)
                for item in draw.sample(conflict, min(1, len(conflict))):
                    others = [each for each in conflict if each is not item]
                    raw = {**answer, 'conflict': others, 'minimal': False}
                    where = [f.where for f in complaints(problem, raw)]
                    self.assertEqual(
                        not others or not oracle.excludes(problem, others),
                        '$.conflict' in where,
                        (profile, seed, others),
                    )

    @shares.with_share_of_examples(100)
    @hypothesis.given(mutated())
    def test_mutated_answer_is_judged_or_refused_as_bad_input(self, both):
        try:
            found = complaints(*both)
        except validation.InvalidInput as error:
            self.assertRegex(str(error), r'\A\$[ -~]*: [ -~]+\Z')
        else:
            for finding in found:
                self.assertRegex(finding.where, r'\A\$[ -~]*\Z')
                self.assertRegex(finding.text, r'\A[ -~]+\Z')

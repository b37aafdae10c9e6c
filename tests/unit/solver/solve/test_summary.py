# SPDX-License-Identifier: Apache-2.0
"""Text summaries of answers."""

import dataclasses

from oslotest import base

from nova_groupext.solver.model import answers
from nova_groupext.solver.solve import stages
from nova_groupext.solver.solve import summary
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def summary_lines(problem, answer=None):
    """Return the lines of a summary, by default of the right answer."""
    answer = answer or stages.solve(problem)
    text = summary.write(problem, answer.with_stats(seconds=0.25))
    assert text.endswith('\n')
    return text.splitlines()


class TestPlaced(base.BaseTestCase):
    def test_members_are_counted_by_domain(self):
        problem = builders.problem(
            [*racks(a=(3,), b=(2,)), builders.host('x', cpu=1)],
            group(groups={'db': group(d=4)}, w=2),
        )
        lines = summary_lines(problem)
        self.assertEqual('placed: 6 of 6 members', lines[0])
        self.assertIn(
            '  the group: 6 members, host 3, rack 2 (a: 3, b: 2, none: 1), '
            'zone 1 (z: 5, none: 1)',
            lines,
        )
        self.assertTrue(any(x.startswith('  db: 4 members') for x in lines))

    def test_unplaced_members_are_listed(self):
        few = {'class': 'one', 'count': 3, 'min_count': 1}
        lines = summary_lines(builders.problem(racks(a=(2,)), group(w=few)))
        self.assertEqual('placed: 2 of 3 members', lines[0])
        self.assertEqual('left out: w-2', lines[1])

    def test_violated_soft_policies_are_listed_with_their_cost(self):
        soft = policy('affinity', 'rack', False, weight=2.5)
        lines = summary_lines(
            builders.problem(racks(a=(1,), b=(1,), c=(1,)), group([soft], w=3))
        )
        self.assertIn('cost of the soft policies: 5 (proved minimal)', lines)
        self.assertIn('  rack affinity of the group: 5', lines)

    def test_unproved_cost_has_its_bound(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        answer = stages.solve(problem)
        cost = {'soft': 3.0, 'bound': 1.5, 'preference': 0.0}
        lines = summary_lines(problem, dataclasses.replace(answer, cost=cost))
        self.assertIn('cost of the soft policies: 3 (lower bound 1.5)', lines)

    def test_long_lists_are_shortened(self):
        problem = builders.problem(
            [builders.host(f'h{n}', f'r{n}', 'z', 1) for n in range(20)],
            group(w=20),
        )
        self.assertTrue(
            any('12 more' in line for line in summary_lines(problem))
        )

    def test_control_characters_in_names_are_escaped(self):
        rack = 'r\x1b[31m'
        problem = builders.problem(
            [builders.host('h', rack, 'z')], group(**{'w\x9b\n': 1})
        )
        lines = summary_lines(problem)
        self.assertTrue(all(line.isprintable() for line in lines))
        self.assertIn('r\\u001b[31m: 1', lines[-2])


class TestWithoutPlan(base.BaseTestCase):
    def test_refusal_has_its_reason_and_conflict(self):
        far = policy('anti-affinity', 'rack')
        problem = builders.problem(racks(a=(2, 2)), group([far], w=2))
        answer = stages.solve(problem)
        lines = summary_lines(problem, answer)
        self.assertEqual(f'refused: {answer.reason["text"]}', lines[0])
        self.assertIn('These requirements conflict:', lines)
        for item in answer.conflict:
            self.assertIn(f'  {item["text"]} [{item["code"]}]', lines)

    def test_refusal_may_have_doubts_and_relaxations(self):
        problem = builders.problem(racks(a=(1,)), group(w=2))
        answer = dataclasses.replace(
            stages.solve(problem),
            minimal=False,
            relaxations=[{'change': {}, 'text': 'fits with fewer'}],
        )
        lines = summary_lines(problem, answer)
        self.assertIn(
            'These requirements conflict (possibly not all of them are '
            'needed):',
            lines,
        )
        self.assertIn('  fits with fewer', lines)

    def test_undecided_answer_names_the_time_limit(self):
        problem = builders.problem(racks(a=(2,)), group(w=1), time_limit=7)
        stats = {'stage': 'start', 'cut_short': True}
        lines = summary_lines(problem, answers.undecided(stats))
        self.assertIn('within 7 s', lines[0])
        self.assertEqual(
            '(0.25 s, stage start, time limit reached)', lines[-1]
        )

    def test_failure_of_the_solver_is_named(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        stats = {'stage': 'start', 'cut_short': True, 'reason': 'it crashed'}
        lines = summary_lines(problem, answers.undecided(stats))
        self.assertEqual('(0.25 s, stage start, it crashed)', lines[-1])

# SPDX-License-Identifier: Apache-2.0
"""What is told of an answer in words."""

import dataclasses

from oslotest import base

from nova_groupext.solver.model import answers
from nova_groupext.solver.solve import stages
from nova_groupext.solver.solve import summary
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


def told(problem, answer=None):
    """The lines about an answer, by default the right one."""
    answer = answer or stages.solve(problem)
    text = summary.write(problem, answer.with_stats(seconds=0.25))
    assert text.endswith('\n')
    return text.splitlines()


class TestPlaced(base.BaseTestCase):
    def test_members_and_where_they_are(self):
        problem = builders.problem(
            [*racks(a=(3,), b=(2,)), builders.host('x', cpu=1)],
            group(groups={'db': group(d=4)}, w=2),
        )
        lines = told(problem)
        self.assertEqual('placed: 6 of 6 members', lines[0])
        self.assertIn(
            '  the group: 6 members, host 3, rack 2 (a: 3, b: 2, none: 1), '
            'zone 1 (z: 5, none: 1)',
            lines,
        )
        self.assertTrue(any(x.startswith('  db: 4 members') for x in lines))

    def test_members_left_out(self):
        few = {'class': 'one', 'count': 3, 'min_count': 1}
        lines = told(builders.problem(racks(a=(2,)), group(w=few)))
        self.assertEqual('placed: 2 of 3 members', lines[0])
        self.assertEqual('left out: w-2', lines[1])

    def test_soft_policies_that_are_not_met_with_their_cost(self):
        soft = policy('affinity', 'rack', False, weight=2.5)
        lines = told(
            builders.problem(racks(a=(1,), b=(1,), c=(1,)), group([soft], w=3))
        )
        self.assertIn('cost of the soft policies: 5 (the least)', lines)
        self.assertIn('  rack affinity of the group: 5', lines)

    def test_what_is_not_proved_to_be_the_least(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        answer = stages.solve(problem)
        cost = {'soft': 3.0, 'bound': 1.5, 'preference': 0.0}
        lines = told(problem, dataclasses.replace(answer, cost=cost))
        self.assertIn(
            'cost of the soft policies: 3 (at least 1.5 is due)', lines
        )

    def test_long_lists_are_cut(self):
        problem = builders.problem(
            [builders.host(f'h{n}', f'r{n}', 'z', 1) for n in range(20)],
            group(w=20),
        )
        self.assertTrue(any('12 more' in line for line in told(problem)))

    def test_names_do_not_talk_to_the_terminal(self):
        rack = 'r\x1b[31m'
        problem = builders.problem(
            [builders.host('h', rack, 'z')], group(**{'w\x9b\n': 1})
        )
        lines = told(problem)
        self.assertTrue(all(line.isprintable() for line in lines))
        self.assertIn('r\\u001b[31m: 1', lines[-2])


class TestOthers(base.BaseTestCase):
    def test_refused(self):
        far = policy('anti-affinity', 'rack')
        problem = builders.problem(racks(a=(2, 2)), group([far], w=2))
        answer = stages.solve(problem)
        lines = told(problem, answer)
        self.assertEqual(f'refused: {answer.reason["text"]}', lines[0])
        self.assertIn('What cannot be together:', lines)
        for item in answer.conflict:
            self.assertIn(f'  {item["text"]} [{item["code"]}]', lines)

    def test_refused_with_doubts_and_advice(self):
        problem = builders.problem(racks(a=(1,)), group(w=2))
        answer = dataclasses.replace(
            stages.solve(problem),
            minimal=False,
            relaxations=[{'change': {}, 'text': 'fits with fewer'}],
        )
        lines = told(problem, answer)
        self.assertIn(
            'What cannot be together; perhaps not all of them are needed:',
            lines,
        )
        self.assertIn('  fits with fewer', lines)

    def test_undecided(self):
        problem = builders.problem(racks(a=(2,)), group(w=1), time_limit=7)
        stats = {'stage': 'start', 'cut_short': True}
        lines = told(problem, answers.undecided(stats))
        self.assertIn('within 7 s', lines[0])
        self.assertEqual('(0.25 s, stage start, the time ran out)', lines[-1])

    def test_why_a_solver_broke_off(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        stats = {'stage': 'start', 'cut_short': True, 'reason': 'it crashed'}
        lines = told(problem, answers.undecided(stats))
        self.assertEqual('(0.25 s, stage start, it crashed)', lines[-1])

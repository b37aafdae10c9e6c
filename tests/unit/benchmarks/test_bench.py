# SPDX-License-Identifier: Apache-2.0
"""Tables and verdicts of the planner's benchmark."""

import dataclasses
import io
import itertools
import math
import os
from unittest import mock

import fixtures
from oslotest import base

from nova_groupext.solver.model import answers
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import child
from tests.benchmarks.planner import __main__ as command
from tests.benchmarks.planner import bench
from tests.benchmarks.planner import groups
from tests.benchmarks.planner import peers
from tests.benchmarks.planner import runs
from tests.benchmarks.planner import tables

FITTING = runs.Instance(100, 8, family='topology', fill=0.7, seed=1)
IMPOSSIBLE = runs.Instance(100, 20, kind='local', seed=1)

RUN = runs.Run(
    instance=FITTING,
    solver_seed=0,
    time_limit=1.0,
    status='placed',
    wrong='',
    first_seconds=0.25,
    seconds=1.5,
    peak_mib=50,
    cost=5.0,
    bound=5.0,
    minimal=True,
    relaxations=0,
    stage='cost',
    reason=None,
    members=8,
)
UNDECIDED = dataclasses.replace(
    RUN, status='undecided', first_seconds=None, cost=None, bound=None
)
PEERS = {'one program': 1.5, 'constructions': None}


def _tables(*given, best=5.0, beside=None):
    baseline = runs.Baseline(
        7.0, {'spreading': False, 'packing': True}, 8, beside or {}
    )
    made = tables.make(
        list(given),
        {run.instance: baseline for run in given},
        {run.instance: best for run in given},
    )
    return [[dict(zip(t.head, r, strict=True)) for r in t.rows] for t in made]


class TestTables(base.BaseTestCase):
    def test_a_quantile_is_a_value_that_occurred(self):
        values = [4, 1, 3, 2]
        found = [tables.quantile(values, q) for q in (0, 0.5, 0.95, 1)]
        self.assertEqual([1, 2, 4, 4], found)

    def test_missing_time_counts_as_infinite(self):
        self.assertEqual(math.inf, tables.quantile([1, None], 1))

    def test_ratio_to_a_cost_of_zero_is_finite(self):
        self.assertEqual(1, tables.ratio(0, 0))
        self.assertEqual(2, tables.ratio(1, 0))

    def test_each_size_has_a_row(self):
        (row,), *_others = _tables(RUN, UNDECIDED, best=2.0)
        self.assertEqual('100, 8', row['hosts, members'])
        self.assertEqual('50%', row['solved'])
        self.assertEqual('0.250 / - / -', row['first plan, s'])
        self.assertEqual('1.5 / 1.5 / 1.5', row['end, s'])
        self.assertEqual('2.00 / 2.00', row['cost / best known'])
        self.assertEqual('1.00', row['bound / cost'])
        self.assertEqual('50%', row['optimal'])
        self.assertEqual('0%', row['spreading'])
        self.assertEqual('100%', row['packing'])

    def test_wrong_answer_does_not_count_as_solved(self):
        (row,), *_others = _tables(dataclasses.replace(RUN, wrong='unlawful'))
        self.assertEqual('0%', row['solved'])
        self.assertEqual('0%', row['optimal'])

    def test_families_and_fills_have_rows_of_their_own(self):
        _, rows, *_others = _tables(RUN)
        self.assertEqual(
            ['topology', '70% full'], [row['groups'] for row in rows]
        )

    def test_fewer_or_more_members_than_planted_are_told(self):
        """Their costs are not compared."""
        runs_ = [dataclasses.replace(RUN, members=n) for n in (6, 12)]

        (row,), (family, _fill), *_others = _tables(*runs_)

        self.assertEqual('0.75 to 1.50', family['members / planted'])
        self.assertEqual('-', row['cost / best known'])

    def test_peers_are_shown_where_they_were_run(self):
        *_others, rows, _refused = _tables(RUN)
        self.assertEqual([], rows)

        *_others, (row,), _refused = _tables(RUN, UNDECIDED, beside=PEERS)

        self.assertEqual('50%, 0.250 / - / -', row['planner'])
        self.assertEqual('100%, 1.5 / 1.5 / 1.5', row['one program'])
        self.assertEqual('0%, - / - / -', row['constructions'])

    def test_refusals_have_a_table_of_their_own(self):
        run = dataclasses.replace(
            UNDECIDED, instance=IMPOSSIBLE, status='refused', relaxations=2
        )
        *_others, (row,) = _tables(run)
        self.assertEqual('local', row['kind'])
        self.assertEqual('100%', row['proved'])
        self.assertEqual('100%', row['relaxations'])

    def test_text_and_rst_show_all_cells(self):
        table = tables.Table('title', ('a', 'b'), [('1', '22'), ('333', '4')])
        self.assertEqual(
            'title\na    b\n1    22\n333  4\n', tables.text(table)
        )
        rows = '   * - 1\n     - 22\n   * - 333\n     - 4\n'
        self.assertTrue(tables.rst(table).endswith(rows))


class TestBench(base.BaseTestCase):
    def _measure(self, instance, answer):
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', io.StringIO()))
        with mock.patch.object(child, 'run', return_value=answer):
            found = bench.Bench()
            found.measure(instance, 1.0)
        return found

    def test_a_refused_group_that_fits_is_a_wrong_answer(self):
        answer = answers.Answer('refused')
        (run,) = self._measure(FITTING, answer).runs
        self.assertEqual('refused what can be placed', run.wrong)

    def test_a_refused_group_that_does_not_fit_is_a_right_answer(self):
        answer = answers.Answer('refused')
        (run,) = self._measure(IMPOSSIBLE, answer).runs
        self.assertTrue(run.is_good)

    def test_infeasible_plan_is_a_wrong_answer(self):
        cost = {'soft': 0.0, 'bound': 0.0, 'preference': 0.0}
        answer = answers.Answer('placed', placement={}, cost=cost)
        (run,) = self._measure(FITTING, answer).runs
        self.assertIn('unlawful', run.wrong)

    def test_the_planted_plan_is_the_best_known_at_first(self):
        found = self._measure(FITTING, answers.Answer('undecided'))
        planted = found.baselines[FITTING].planted
        self.assertEqual({FITTING: planted}, found.best)

    def test_cheaper_plan_becomes_the_best_known(self):
        _, planted = FITTING.generate()
        cost = dict.fromkeys(('soft', 'bound', 'preference'), 0.0)
        with mock.patch.object(violations, 'soft_cost', side_effect=[9, 0.0]):
            answer = answers.Answer('placed', placement=planted, cost=cost)
            found = self._measure(FITTING, answer)
        self.assertEqual({FITTING: 0.0}, found.best)

    def test_written_results_can_be_read(self):
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 'json')
        found = self._measure(FITTING, answers.Answer('undecided'))
        found.write(path)
        again = bench.Bench()
        again.read(path)
        self.assertEqual(found.best, again.best)


class TestCommand(base.BaseTestCase):
    def test_every_family_is_run_with_every_fill(self):
        options = command._parse_arguments(['--size', '100x20'])
        found = {(i.family, i.fill) for i, *_ in command.choose(options)}
        self.assertLessEqual(
            set(itertools.product(groups.FAMILIES, command.FILLS)), found
        )

    def test_options_override_the_default_plan(self):
        arguments = '--size 300x30 --instances 2 --refusals 1 --time-limit 3'
        options = command._parse_arguments(arguments.split())
        found = list(command.choose(options))
        self.assertEqual({3.0}, {limit for _, limit, _ in found})
        kinds = [instance.kind for instance, *_ in found]
        self.assertEqual(['', '', 'local', 'contention'], kinds)

    def test_peers_run_for_some_of_the_large_problems(self):
        arguments = ['--size', '5000x200', '--instances', '5', '--peers']
        options = command._parse_arguments(arguments)

        has_peers = [each[2] for each in command.choose(options)]

        self.assertEqual([True, False, False, False, True], has_peers[:5])
        self.assertFalse(any(has_peers[5:]))


class TestPeers(base.BaseTestCase):
    def test_peers_find_a_plan_of_an_easy_problem(self):
        problem, _planted = FITTING.generate()

        for name, seconds in peers.measure(problem, 10).items():
            self.assertIsNotNone(seconds, name)

    def test_peers_without_time_find_none(self):
        problem, _planted = FITTING.generate()

        self.assertEqual({None}, {*peers.measure(problem, 0).values()})

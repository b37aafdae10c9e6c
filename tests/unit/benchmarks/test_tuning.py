# SPDX-License-Identifier: Apache-2.0
"""Measurements of the solver's tuned numbers."""

import ast
import contextlib
import io
import pathlib

from oslotest import base

from nova_groupext import solver
from nova_groupext.solver import tuning
from tests.benchmarks import tuning as tuning_benchmark
from tests.benchmarks.tuning import __main__ as command
from tests.benchmarks.tuning import cases
from tests.benchmarks.tuning import measurements

RESULT = cases.Result(2.0, 1.0, True, cost=3.0, score=1.0, answer='one')


def _names():
    """Yield the names of all numbers, those in tuples with an index."""
    for name, value in vars(tuning).items():
        if name.isupper():
            if isinstance(value, tuple):
                yield from (f'{name}[{n}]' for n in range(len(value)))
            else:
                yield name


def _read_at_import(tree):
    """Yield the lines in which the import of a module reads a number."""
    nodes = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Attribute) and (
            isinstance(node.value, ast.Name) and node.value.id == 'tuning'
        ):
            yield node.lineno
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            nodes += [
                *node.args.defaults,
                *filter(None, node.args.kw_defaults),
            ]
        else:
            nodes += ast.iter_child_nodes(node)


class TestNumbers(base.BaseTestCase):
    def test_every_number_has_a_measurement(self):
        self.assertEqual(sorted(_names()), sorted(measurements.MEASUREMENTS))

    def test_no_module_reads_a_number_when_it_is_imported(self):
        [folder] = map(pathlib.Path, solver.__path__)
        found = [
            f'{path.relative_to(folder)}:{line}'
            for path in folder.rglob('*.py')
            for line in _read_at_import(ast.parse(path.read_text()))
        ]

        self.assertEqual([], found)

    def test_benchmark_imports_no_package_that_changes_numbers(self):
        """Unit and property tests lengthen the slices of time."""
        [folder] = map(pathlib.Path, tuning_benchmark.__path__)
        for path in folder.glob('*.py'):
            text = path.read_text()
            self.assertNotIn('tests.unit', text)
            self.assertNotIn('tests.property', text)

    def test_other_values_differ_from_the_present_one(self):
        for name, measurement in measurements.MEASUREMENTS.items():
            number = measurements.Number(name)
            others = measurement.values or number.half_and_double()
            self.assertNotIn(number.present, others, name)

    def test_half_and_double_of_a_share_are_shares(self):
        for name in _names():
            if name.endswith(('_SHARE', '_PROBABILITY')):
                values = measurements.Number(name).half_and_double()
                self.assertTrue(0 < values[0] < values[1] < 1, name)

    def test_other_elements_of_a_tuple_stay(self):
        number = measurements.Number('RELAXATION_SECONDS[2]')

        self.assertEqual(
            (*tuning.RELAXATION_SECONDS[:2], 99), number.replaced_by(99)
        )


class TestCompare(base.BaseTestCase):
    def test_equal_results_differ_in_nothing(self):
        self.assertEqual(
            'time 1.00, first 1.00, decided 1 for 1 of 1, cost +0.0%, '
            'scores +0.0%, other answers 0',
            command.compare([RESULT], [RESULT]),
        )

    def test_differences_are_relative_to_the_present_value(self):
        other = RESULT._replace(seconds=3.0, cost=1.0, answer='another')

        self.assertEqual(
            'time 1.50, first 1.00, decided 1 for 1 of 1, cost -50.0%, '
            'scores +0.0%, other answers 1',
            command.compare([RESULT], [other]),
        )

    def test_numbers_of_members_that_differ_are_told(self):
        other = RESULT._replace(members=7)

        self.assertNotIn('members', command.compare([RESULT], [RESULT]))
        self.assertIn('members 7 for 0', command.compare([RESULT], [other]))

    def test_undecided_case_has_no_cost(self):
        other = RESULT._replace(is_decided=False, cost=None, score=None)

        self.assertIn(
            'decided 1 for 2 of 2, cost +0.0%',
            command.compare([RESULT, RESULT], [RESULT, other]),
        )


class TestCommand(base.BaseTestCase):
    def _run(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            command.main([*arguments, '--number', 'MAX_END_STATES'])
        return output.getvalue()

    def test_each_other_value_has_a_line(self):
        before = tuning.MAX_END_STATES
        _, half, double = self._run().splitlines()

        self.assertIn('MAX_END_STATES = 32: ', half)
        self.assertIn('decided 2 for 3 of 4', half)
        self.assertIn('MAX_END_STATES = 128: ', double)
        self.assertIn('decided 4 for 3 of 4', double)
        self.assertEqual(before, tuning.MAX_END_STATES)

    def test_reads_of_a_number_are_counted(self):
        self.assertNotIn('read 0 times', self._run('--uses'))

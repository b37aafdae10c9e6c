# SPDX-License-Identifier: Apache-2.0
"""The report of tools/test: passed, failed and skipped tests."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

from oslotest import base

TOP = pathlib.Path(__file__).parents[3]

TESTS = """\
import unittest


class Test(unittest.TestCase):
    def test_right(self):
        self.assertEqual(1, 1)
"""
WRONG = """
    def test_wrong(self):
        self.assertEqual(1, 2)
"""
INHERITED = """\
from tests.unit import cases


class Test(cases.Test):
    pass
"""
BROKEN = 'import no_such_module\n'
# Stands in for the servers of tests/services.
SERVERS = """\
import types

NOBODY = types.SimpleNamespace(name='NoSQL', hint='install nosql-server')


def missing():
    return {missing}


def are_required():
    return {are_required}
"""


class TestRunTests(base.BaseTestCase):
    """A checkout with two parts of one test each."""

    def setUp(self):
        super().setUp()
        self.top = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        shutil.copytree(
            TOP / 'tools' / 'run_tests', self.top / 'tools' / 'run_tests'
        )
        shutil.copy(TOP / '.stestr.conf', self.top)
        self.write('tests/__init__.py', '')
        self.write('tests/services/__init__.py', '')
        self.servers()
        for part in ('unit', 'property'):
            self.write(f'tests/{part}/__init__.py', '')
            self.write(f'tests/{part}/test_it.py', TESTS)

    def write(self, path, text):
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def servers(self, missing='[]', are_required=False):
        self.write(
            'tests/services/servers.py',
            SERVERS.format(missing=missing, are_required=are_required),
        )

    def run_it(self, *args, parts=('--parts', 'unit,property')):
        """Return the exit status and the lines that were printed."""
        ended = subprocess.run(
            [
                *(sys.executable, self.top / 'tools' / 'run_tests'),
                *(*parts, *args),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ended.returncode, ended.stdout.splitlines()

    def test_all_parts_pass(self):
        status, lines = self.run_it()

        self.assertEqual(0, status)
        self.assertEqual('passed: 2 passed, 0 failed, 0 skipped', lines[-1])
        for part in ('unit', 'property'):
            told = [line for line in lines if line.startswith(f'{part} ')]
            self.assertRegex(told[-1], r' s .* 1 passed, 0 failed, 0 skipped')

    def test_failed_test_is_shown_at_the_end_and_other_parts_run(self):
        self.write('tests/unit/test_it.py', TESTS + WRONG)

        status, lines = self.run_it()

        name = 'tests.unit.test_it.Test.test_wrong'
        self.assertEqual(1, status)
        self.assertEqual('failed: 2 passed, 1 failed, 0 skipped', lines[-1])
        self.assertEqual(f'FAILED {name}', lines[-3])
        self.assertIn('AssertionError: 1 != 2', lines)
        property_runs = lines.index('property ...')
        self.assertLess(lines.index(f'  FAILED {name}'), property_runs)
        self.assertLess(property_runs, lines.index('AssertionError: 1 != 2'))

    def test_part_that_cannot_be_imported_fails_and_other_parts_run(self):
        self.write('tests/unit/test_it.py', BROKEN)

        status, lines = self.run_it()

        self.assertEqual(1, status)
        self.assertIn('no_such_module', '\n'.join(lines))
        self.assertTrue(lines[-1].startswith('failed: 1 passed'), lines)

    def test_arguments_select_tests_in_all_parts(self):
        self.write('tests/unit/test_it.py', TESTS + WRONG)

        status, lines = self.run_it('property')

        self.assertEqual(0, status)
        self.assertEqual('passed: 1 passed, 0 failed, 0 skipped', lines[-1])

    def test_argument_selects_tests_in_parts_not_run_by_default(self):
        others = 'functional', 'clients', 'services', 'heat'
        for part in others:
            self.write(f'tests/{part}/__init__.py', '')
            self.write(f'tests/{part}/test_it.py', TESTS)
        for part in ('later', 'long'):
            self.write(f'tests/{part}/__init__.py', '')
            self.write(f'tests/{part}/test_{part}.py', TESTS)

        status, lines = self.run_it('test_la|test_lo', parts=())

        self.assertEqual(0, status)
        self.assertEqual('passed: 2 passed, 0 failed, 0 skipped', lines[-1])

    def test_part_that_cannot_contain_a_name_is_not_imported(self):
        self.write('tests/unit/cases.py', TESTS.replace('right', 'shared'))
        for part, text in (
            ('functional', BROKEN),
            ('later', INHERITED),
        ):
            self.write(f'tests/{part}/__init__.py', '')
            self.write(f'tests/{part}/test_{part}.py', text)

        for name in ('test_shared', 'test_later.Test.test_shared'):
            status, lines = self.run_it(name, parts=())

            self.assertEqual(0, status, lines)
            self.assertEqual(
                'passed: 1 passed, 0 failed, 0 skipped', lines[-1]
            )
            self.assertNotIn('functional ...', lines)

    def test_arguments_without_a_matching_test_fail(self):
        status, lines = self.run_it('nowhere')

        self.assertEqual(1, status)
        self.assertEqual('failed: no test matches nowhere', lines[-1])

    def test_missing_service_is_reported_once(self):
        self.servers(missing='[NOBODY]')

        status, lines = self.run_it()

        self.assertEqual(0, status)
        self.assertEqual('NoSQL: install nosql-server', lines[0])
        self.assertEqual(1, '\n'.join(lines).count('nosql'))

    def test_missing_required_service_fails_at_once(self):
        self.servers(missing='[NOBODY]', are_required=True)

        status, lines = self.run_it()

        self.assertEqual(1, status)
        self.assertEqual('NoSQL: install nosql-server', lines[0])
        self.assertTrue(lines[-1].startswith('failed: '))

# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-plan, run as its users run it."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

import fixtures
from oslotest import base

from nova_groupext.cmd import plan
from tests.unit.planner import builders
from tests.unit.planner.builders import group
from tests.unit.planner.builders import racks

COMMAND = [sys.executable, '-m', 'nova_groupext.cmd.plan']


def run(*arguments, data=b''):
    return subprocess.run(
        [*COMMAND, *arguments],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )


def decide(raw, *arguments):
    """Exit status and answer to a problem given on standard input."""
    done = run('-', *arguments, data=json.dumps(raw).encode())
    return done.returncode, json.loads(done.stdout)


class TestAnswers(base.BaseTestCase):
    def test_placed(self):
        status, answer = decide(
            builders.raw_problem(racks(a=(2,)), group(w=2))
        )
        self.assertEqual((0, 'placed'), (status, answer['status']))
        self.assertEqual({'w-0': 'a1', 'w-1': 'a1'}, answer['placement'])

    def test_refused(self):
        status, answer = decide(
            builders.raw_problem(racks(a=(2,)), group(w=3))
        )
        self.assertEqual((1, 'refused'), (status, answer['status']))

    def test_undecided(self):
        status, answer = decide(
            builders.raw_hard_problem(), '--time-limit', '0'
        )
        self.assertEqual((3, 'undecided'), (status, answer['status']))

    def test_a_time_limit_of_the_command_line(self):
        status, answer = decide(
            builders.raw_slow_problem(), '--time-limit', '1'
        )
        self.assertEqual((0, True), (status, answer['stats']['cut_short']))

    def test_without_memory(self):
        status, answer = decide(
            builders.raw_slow_problem(), '--memory-limit', '64'
        )
        self.assertEqual(3, status)
        self.assertIn('reason', answer['stats'])

    def test_a_file_and_a_seed(self):
        raw = builders.raw_problem(racks(a=(2,)), group(w=2))
        with tempfile.NamedTemporaryFile('w') as file:
            json.dump(raw, file)
            file.flush()
            done = run('--seed', '3', file.name)
        self.assertEqual((0, b''), (done.returncode, done.stderr))
        self.assertEqual('placed', json.loads(done.stdout)['status'])


class TestBadInput(base.BaseTestCase):
    def _refused(self, path, *arguments, data=b''):
        done = run(*arguments, data=data)
        self.assertEqual((2, b''), (done.returncode, done.stdout))
        self.assertEqual(1, done.stderr.count(b'\n'))
        self.assertTrue(done.stderr.startswith(f'{path}: '.encode()))

    def test_bad_files(self):
        raw = builders.raw_problem(racks(a=(2,)), group(w=2))
        for path, data in (
            ('$', b'{'),
            ('$', b'\xff\xfe'),
            ('$', b'[' * 100_000),
            ('$', b'[]'),
            ('$.seed', b'{"seed": 1, "seed": 2}'),
            ('$.time_limit', json.dumps({**raw, 'time_limit': -1}).encode()),
            ('$.seed', json.dumps({**raw, 'seed': float('nan')}).encode()),
            (
                '$.topology.groups["\\ud800\\n"]',
                json.dumps(
                    {**raw, 'topology': {'groups': {'\ud800\n': 1}}}
                ).encode(),
            ),
        ):
            self._refused(path, '-', data=data)

    def test_files_that_cannot_be_read(self):
        for name in ('/does/not/exist', os.curdir):
            self._refused('$', name)

    def test_bad_arguments(self):
        for arguments in (
            [],
            ['a', 'b'],
            ['-', '--seed', 'x'],
            ['-', '--seed', '-1'],
            ['-', '--time-limit', 'nan'],
            ['-', '--time-limit', '-1'],
        ):
            done = run(*arguments)
            self.assertEqual((2, b''), (done.returncode, done.stdout))


class TestInternalError(base.BaseTestCase):
    def test_it_is_told_apart_and_prints_no_answer(self):
        bug = fixtures.MockPatchObject(
            plan.decide, 'decide', side_effect=RuntimeError('a bug')
        )
        self.useFixture(bug)
        raw = builders.raw_problem(racks(a=(2,)), group(w=2))
        stdout, stderr = io.StringIO(), io.StringIO()
        with (
            tempfile.NamedTemporaryFile('w') as file,
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            json.dump(raw, file)
            file.flush()
            self.assertEqual(4, plan.main([file.name]))
        self.assertEqual('', stdout.getvalue())
        self.assertIn('a bug', stderr.getvalue())

# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-plan, run as a command."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import fixtures
from oslotest import base

from nova_groupext.cmd import plan
from tests import fixtures as test_fixtures
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

SOURCE = pathlib.Path(__file__).parents[3] / 'doc' / 'source'
EXAMPLES = SOURCE / 'examples'
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


SMALL = builders.raw_problem(racks(a=(2,)), group(w=2))
LARGE = builders.raw_problem(racks(a=(2,) * 5000), group(w=2))


class TestAnswers(base.BaseTestCase):
    def test_placed_group_has_status_0(self):
        status, answer = decide(SMALL)
        self.assertEqual((0, 'placed'), (status, answer['status']))
        self.assertEqual({'w-0': 'a1', 'w-1': 'a1'}, answer['placement'])

    def test_refused_group_has_status_1(self):
        status, answer = decide(
            builders.raw_problem(racks(a=(2,)), group(w=3))
        )
        self.assertEqual((1, 'refused'), (status, answer['status']))

    def test_undecided_group_has_status_3_and_a_reason(self):
        status, answer = decide(LARGE, '--memory-limit', '16')
        self.assertEqual((3, 'undecided'), (status, answer['status']))
        self.assertIn('16 MiB', answer['stats']['reason'])

    def test_time_limit_of_0_ends_placed_or_undecided(self):
        status, answer = decide(
            builders.raw_slow_problem(), '--time-limit', '0'
        )
        self.assertIn(
            (status, answer['status']), ((0, 'placed'), (3, 'undecided'))
        )

    def test_time_limit_option_cuts_the_search_short(self):
        status, answer = decide(
            # The limit is processor time: a busy machine cuts nothing else.
            builders.raw_slow_problem(deadline=60),
            *('--time-limit', '0.5'),
        )
        self.assertEqual((0, True), (status, answer['stats']['cut_short']))

    def test_file_and_seed_are_accepted(self):
        with tempfile.NamedTemporaryFile('w') as file:
            json.dump(SMALL, file)
            file.flush()
            done = run('--seed', '3', file.name)
        self.assertEqual((0, b''), (done.returncode, done.stderr))
        self.assertEqual('placed', json.loads(done.stdout)['status'])

    def test_output_is_reproducible_but_for_measurements(self):
        policies = [builders.policy('spread', 'rack', False, min_domains=3)]
        raw = builders.raw_problem(
            racks(a=(3, 3), b=(3, 2), c=(2, 4)), group(policies, a=4, b=3)
        )
        outputs = set()
        for seed in ('0', '1'):
            self.useFixture(
                fixtures.EnvironmentVariable('PYTHONHASHSEED', seed)
            )
            done = run('-', data=json.dumps(raw).encode())
            answer, stats = done.stdout.split(b'"stats": ')
            parsed = json.loads(stats[:-2])
            outputs.add((answer, parsed['stage'], parsed['cut_short']))
        self.assertEqual(1, len(outputs))


class TestExamples(base.BaseTestCase):
    def test_examples_have_the_documented_answers(self):
        for name, status, words in (
            ('two-hosts', 0, 'placed: 3 of 3 members'),
            ('shop', 0, 'placed: 9 of 9 members'),
            (
                'shop-too-large',
                1,
                'refused: There is not enough free capacity for 4 db in data '
                'with the rack spread of data.',
            ),
        ):
            done = run('--explain', str(EXAMPLES / f'{name}.json'))
            lines = done.stderr.decode().splitlines()
            self.assertEqual((status, words), (done.returncode, lines[0]))

    def test_documented_picture_is_up_to_date(self):
        with tempfile.NamedTemporaryFile(
            'r', encoding='utf-8', suffix='.svg'
        ) as file:
            run('--draw', file.name, str(EXAMPLES / 'shop.json'))
            shown = SOURCE / 'images' / 'shop.svg'
            self.assertEqual(shown.read_text('utf-8'), file.read())


class TestExplain(base.BaseTestCase):
    def _explained(self, raw, *arguments):
        done = run('-', '--explain', *arguments, data=json.dumps(raw).encode())
        json.loads(done.stdout)
        return done.stderr.decode()

    def test_placed_group_is_explained(self):
        text = self._explained(SMALL)
        self.assertIn('placed: 2 of 2 members\n', text)

    def test_refused_group_is_explained(self):
        raw = builders.raw_problem(racks(a=(2,)), group(w=3))
        self.assertTrue(self._explained(raw).startswith('refused: '))

    def test_undecided_group_is_explained_with_its_reason(self):
        text = self._explained(LARGE, '--memory-limit', '16')
        self.assertTrue(text.startswith('undecided: '))
        self.assertIn('16 MiB', text)


class TestDraw(base.BaseTestCase):
    def test_picture_is_drawn_beside_the_answer(self):
        with tempfile.NamedTemporaryFile(
            'r', encoding='utf-8', suffix='.svg'
        ) as file:
            status, answer = decide(SMALL, '--draw', file.name)
            self.assertEqual((0, 'placed'), (status, answer['status']))
            self.assertIn('</svg>', file.read())

    def test_unwritable_picture_is_refused_before_planning(self):
        name = '/does/not/exist.svg'
        done = run('-', '--draw', name, data=json.dumps(SMALL).encode())
        self.assertEqual((2, b''), (done.returncode, done.stdout))
        self.assertEqual(
            b'--draw: cannot be written: No such file or directory\n',
            done.stderr,
        )

    def test_picture_with_another_suffix_is_refused(self):
        done = run('-', '--draw', '/tmp/shop.png', data=b'{}')

        self.assertEqual(2, done.returncode)
        self.assertIn(b'must end in .svg', done.stderr)


class TestCheck(base.BaseTestCase):
    def _check(self, answer, *arguments, problem=SMALL):
        with tempfile.NamedTemporaryFile('w') as file:
            file.write(json.dumps(answer))
            file.flush()
            return run(
                '-',
                '--check',
                file.name,
                *arguments,
                data=json.dumps(problem).encode(),
            )

    def test_right_answer_passes(self):
        refused = builders.raw_problem(racks(a=(2,)), group(w=3))
        for problem in (SMALL, refused):
            _, answer = decide(problem)
            done = self._check(answer, problem=problem)
            self.assertEqual(
                (0, b'the answer is correct\n', b''),
                (done.returncode, done.stdout, done.stderr),
            )

    def test_wrong_answer_fails_with_its_faults(self):
        _, answer = decide(SMALL)
        answer['unplaced'] = ['w-1']
        answer['cost']['soft'] = 1
        done = self._check(answer)
        self.assertEqual((1, b''), (done.returncode, done.stderr))
        places = [line.split(b':')[0] for line in done.stdout.splitlines()]
        self.assertEqual([b'$.unplaced', b'$.cost.soft'], places)

    def test_unverified_answer_has_status_3(self):
        policies = [builders.policy('affinity', 'rack')]
        problem = builders.raw_problem(
            racks(a=(2, 1), b=(3, 1)), group(policies, w=5)
        )
        _, answer = decide(problem)
        for arguments, words in (
            # A busy machine does not even start the solver in time.
            (
                ['--time-limit', '0'],
                rb'\$.conflict: was not verified in time|did not end in time',
            ),
            (
                ['--memory-limit', '16'],
                rb'\$: not verified: the solver ran out',
            ),
        ):
            done = self._check(answer, *arguments, problem=problem)
            self.assertEqual((3, b''), (done.returncode, done.stderr))
            self.assertRegex(done.stdout, words)

    def test_malformed_answer_is_bad_input(self):
        done = self._check({'status': 'lost'})
        self.assertEqual((2, b''), (done.returncode, done.stdout))
        self.assertEqual(
            b'--check $.status: must be one of '
            b'["placed", "refused", "undecided"]\n',
            done.stderr,
        )

    def test_check_excludes_explain_and_draw(self):
        for other in (['--explain'], ['--draw', '/tmp/x.svg']):
            done = self._check({'status': 'undecided'}, *other)
            self.assertEqual((2, b''), (done.returncode, done.stdout))


class TestProgress(base.BaseTestCase):
    def test_terminal_shows_progress_and_is_cleared(self):
        try:
            ours, theirs = os.openpty()
        except OSError as exc:
            self.skipTest(f'there are no pseudo terminals here: {exc}')
        self.addCleanup(os.close, ours)
        with os.fdopen(theirs, 'w') as terminal:
            done = subprocess.run(
                [*COMMAND, '-', '--time-limit', '1'],
                input=json.dumps(builders.raw_slow_problem()).encode(),
                stdout=subprocess.PIPE,
                stderr=terminal,
                timeout=60,
                check=False,
            )
        shown = os.read(ours, 100_000).decode()
        self.assertIn('200 of 200 members placed, cost', shown)
        self.assertNotIn('\n', shown)
        self.assertEqual('', shown.split('\r')[-1])
        self.assertEqual('placed', json.loads(done.stdout)['status'])


class TestTermination(base.BaseTestCase):
    def _start(self, raw, **kwargs):
        command = subprocess.Popen(
            [*COMMAND, '-'],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **kwargs,
        )
        self.enterContext(command)
        self.addCleanup(command.kill)
        command.stdin.write(json.dumps(raw).encode())
        command.stdin.close()
        return command

    def test_ctrl_c_ends_command_and_solver_silently(self):
        self.useFixture(test_fixtures.DefaultSigint())
        command = self._start(
            builders.raw_slow_problem(time_limit=60), stdout=subprocess.PIPE
        )
        tasks = pathlib.Path(f'/proc/{command.pid}/task/{command.pid}')
        while not (solver := (tasks / 'children').read_text().split()):
            time.sleep(0.01)
        command.send_signal(signal.SIGINT)
        self.assertEqual(130, command.wait(30))
        self.assertEqual(b'', command.stdout.read())
        self.assertEqual(b'', command.stderr.read())
        while pathlib.Path(f'/proc/{solver[0]}').exists():
            time.sleep(0.01)

    def test_closed_output_ends_the_command_silently(self):
        ours, theirs = os.pipe()
        os.close(ours)
        with os.fdopen(theirs, 'wb') as closed:
            command = self._start(SMALL, stdout=closed)
            self.assertEqual(141, command.wait(30))
        self.assertEqual(b'', command.stderr.read())

    def test_command_imports_no_slow_module(self):
        script = f'import sys, {plan.__name__}; print(*sys.modules)'
        modules = subprocess.check_output([sys.executable, '-c', script])
        self.assertEqual(
            set(),
            {b'numpy', b'highspy', b'jsonschema'} & set(modules.split()),
        )


class TestBadInput(base.BaseTestCase):
    def _main(self, *arguments, data=b''):
        """Run the command in this process; return status, output, errors."""
        stdout, stderr = io.StringIO(), io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO(data))
        self.useFixture(fixtures.MonkeyPatch('sys.stdin', stdin))
        with (
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            status = plan.main(arguments)
        return status, stdout.getvalue(), stderr.getvalue()

    def _refused(self, path, *arguments, data=b''):
        status, stdout, stderr = self._main(*arguments, data=data)
        self.assertEqual((2, ''), (status, stdout))
        self.assertEqual(1, stderr.count('\n'))
        self.assertTrue(stderr.isascii())
        self.assertTrue(stderr.startswith(f'{path}: '))

    def test_bad_input_prints_a_single_line(self):
        done = run('-', data=b'{}')
        self.assertEqual(
            (2, b'', b'$.version: is missing\n'),
            (done.returncode, done.stdout, done.stderr),
        )

    def test_bad_file_is_refused_with_its_json_path(self):
        for path, data in (
            ('$', b'{'),
            ('$', b'\xff\xfe'),
            ('$', b'[' * 100_000),
            ('$', b'[]'),
            ('$.seed', b'{"seed": 1, "seed": 2}'),
            ('$.seed', b'{"seed": %s}' % (b'9' * 100_000)),
            ('$.time_limit', json.dumps({**SMALL, 'time_limit': -1}).encode()),
            ('$.seed', json.dumps({**SMALL, 'seed': float('nan')}).encode()),
            (
                '$.topology.groups["\\ud800\\n"]',
                json.dumps(
                    {**SMALL, 'topology': {'groups': {'\ud800\n': 1}}}
                ).encode(),
            ),
        ):
            self._refused(path, '-', data=data)

    def test_message_about_a_long_file_is_short(self):
        data = json.dumps({**SMALL, 'x' * 10**6: 1}).encode()
        status, stdout, stderr = self._main('-', data=data)
        self.assertEqual((2, ''), (status, stdout))
        self.assertLess(len(stderr), 3_000)

    def test_unreadable_file_is_refused(self):
        for name in ('/does/not/exist', os.curdir):
            self._refused(json.dumps(name), name)

    def test_bad_arguments_are_refused(self):
        for arguments in (
            [],
            ['a', 'b'],
            ['-', '--seed', 'x'],
            ['-', '--seed', '-1'],
            ['-', '--time-limit', 'nan'],
            ['-', '--time-limit', '-1'],
            ['-', '--time-limit', '1e7'],
            ['-', '--memory-limit', '1e3'],
        ):
            error = self.assertRaises(SystemExit, self._main, *arguments)
            self.assertEqual(2, error.code)


class TestInternalError(base.BaseTestCase):
    def test_internal_error_has_status_4_and_no_answer(self):
        bug = fixtures.MockPatchObject(
            plan.decide, 'decide', side_effect=RuntimeError('a bug')
        )
        self.useFixture(bug)
        stdout, stderr = io.StringIO(), io.StringIO()
        with (
            tempfile.NamedTemporaryFile('w') as file,
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            json.dump(SMALL, file)
            file.flush()
            self.assertEqual(4, plan.main([file.name]))
        self.assertEqual('', stdout.getvalue())
        self.assertIn('a bug', stderr.getvalue())

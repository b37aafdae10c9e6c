# SPDX-License-Identifier: Apache-2.0
"""Child processes whose output is read through a pipe."""

import contextlib
import os
import pathlib
import select
import subprocess
import sys

import fixtures
from oslotest import base

from nova_groupext.solver.solve import piped_process

LONG = 60


def start(script):
    process = subprocess.Popen(
        [sys.executable, '-I', '-c', script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        process_group=0,
    )
    return piped_process.PipedProcess(process)


def run_script(script, data=b'', seconds=LONG):
    """Return the output lines of a script and its exit reason."""
    with start(script) as child:
        lines = [line.decode() for line in child.lines(data, seconds)]
        return lines, child.exit_reason


def open_files():
    return sorted(os.listdir('/proc/self/fd'))


def children():
    """Process ids of this process's children, dead ones included."""
    tasks = pathlib.Path('/proc/self/task').glob('*/children')
    return [pid for task in tasks for pid in task.read_text().split()]


class TestPipedProcess(base.BaseTestCase):
    def test_all_lines_of_a_successful_child_are_read(self):
        script = 'print("a"); print(); print("b")'
        self.assertEqual((['a', '', 'b'], None), run_script(script))

    def test_line_is_read_while_the_child_runs(self):
        with start('print("a", flush=True); input()') as child:
            self.assertEqual(b'a', next(child.lines(b'', LONG)))

    def test_incomplete_line_is_dropped(self):
        script = 'import os; os.write(1, b"whole\\nhalf"); os.kill(0, 9)'
        self.assertEqual(
            (['whole'], 'ended by signal SIGKILL'), run_script(script)
        )

    def test_exit_reason_has_the_status_or_signal(self):
        for script, exit_reason in (
            ('raise SystemExit(3)', 'ended with status 3'),
            ('import os; os.abort()', 'ended by signal SIGABRT'),
            ('import os; os.kill(0, 40)', 'ended by signal 40'),
        ):
            self.assertEqual(([], exit_reason), run_script(script))

    def test_large_input_and_output_do_not_block(self):
        script = """
import sys
for _ in range(1000):
    sys.stdout.write('x' * 999 + '\\n')
print(len(sys.stdin.buffer.read(3_000_000)))
"""
        lines, exit_reason = run_script(script, b'y' * 3_000_000)
        self.assertIsNone(exit_reason)
        self.assertEqual(['x' * 999] * 1000 + ['3000000'], lines)

    def test_child_that_reads_no_input_is_read(self):
        script = 'import sys; sys.stdin.close(); print("a")'
        self.assertEqual((['a'], None), run_script(script, b'y' * 3_000_000))

    def test_child_that_does_not_end_is_killed(self):
        for script in (
            'while True: pass',
            'import os; os.close(1); input()',
            'import os, signal; os.kill(0, signal.SIGSTOP)',
            'import signal; signal.signal(15, signal.SIG_IGN); input()',
        ):
            self.assertEqual(
                ([], 'did not end in time'), run_script(script, b'', 0.1)
            )

    def test_child_with_endless_output_is_killed(self):
        _, exit_reason = run_script('while True: print("a")', b'', 0.1)
        self.assertEqual('did not end in time', exit_reason)

    def test_output_before_the_time_limit_is_read(self):
        with start('print("a", flush=True); input()') as child:
            select.select([child._process.stdout], [], [], LONG)
            self.assertEqual([b'a'], list(child.lines(b'', 0)))

    def test_endless_line_is_cut_off(self):
        self.useFixture(
            fixtures.MockPatchObject(piped_process, 'MAX_LINE', 10_000)
        )
        script = 'print("a")\nwhile True: print(end="x" * 1000)'
        self.assertEqual(
            (['a'], 'wrote a line that is too long'), run_script(script)
        )

    def test_memory_of_a_killed_child_is_known(self):
        with start(
            'a = b"x" * 50_000_000; print(1, flush=True); input()'
        ) as c:
            lines = c.lines(b'', LONG)
            next(lines)
            c._kill()
            self.assertGreater(c.peak_mib, 47)

    def test_no_file_and_no_process_is_left(self):
        before = open_files(), children()
        for script in ('pass', 'print(1); input()', 'raise SystemExit(1)'):
            run_script(script, b'', 0.2)
            with contextlib.suppress(KeyError), start(script):
                raise KeyError
            with start(script) as child:
                next(child.lines(b'', LONG), None)
        self.assertEqual(before, (open_files(), children()))

# SPDX-License-Identifier: Apache-2.0
"""A child process is read as it speaks, and nothing of it is left."""

import contextlib
import os
import pathlib
import select
import sys

import fixtures
from oslotest import base

from nova_groupext.solver.solve import piped_process

LONG = 60


def start(script):
    return piped_process.PipedProcess([sys.executable, '-I', '-c', script])


def hear(script, data=b'', seconds=LONG):
    """All lines of a script, and how it ended."""
    with start(script) as child:
        lines = [line.decode() for line in child.lines(data, seconds)]
        return lines, child.ending


def open_files():
    return sorted(os.listdir('/proc/self/fd'))


def children():
    """Process ids of this process's children, dead ones included."""
    tasks = pathlib.Path('/proc/self/task').glob('*/children')
    return [pid for task in tasks for pid in task.read_text().split()]


class TestChild(base.BaseTestCase):
    def test_all_lines_of_one_that_ends_well(self):
        script = 'print("a"); print(); print("b")'
        self.assertEqual((['a', '', 'b'], None), hear(script))

    def test_a_line_is_heard_while_the_child_goes_on(self):
        with start('print("a", flush=True); input()') as child:
            self.assertEqual(b'a', next(child.lines(b'', LONG)))

    def test_half_a_line_is_none(self):
        script = 'import os; os.write(1, b"whole\\nhalf"); os.kill(0, 9)'
        self.assertEqual((['whole'], 'ended by signal SIGKILL'), hear(script))

    def test_how_it_ended(self):
        for script, ending in (
            ('raise SystemExit(3)', 'ended with status 3'),
            ('import os; os.abort()', 'ended by signal SIGABRT'),
            ('import os; os.kill(0, 40)', 'ended by signal 40'),
        ):
            self.assertEqual(([], ending), hear(script))

    def test_much_goes_in_and_out_at_once(self):
        script = """
import sys
for _ in range(1000):
    sys.stdout.write('x' * 999 + '\\n')
print(len(sys.stdin.buffer.read(3_000_000)))
"""
        lines, ending = hear(script, b'y' * 3_000_000)
        self.assertIsNone(ending)
        self.assertEqual(['x' * 999] * 1000 + ['3000000'], lines)

    def test_one_that_does_not_listen_is_heard_all_the_same(self):
        script = 'import sys; sys.stdin.close(); print("a")'
        self.assertEqual((['a'], None), hear(script, b'y' * 3_000_000))

    def test_one_that_does_not_end_is_killed(self):
        for script in (
            'while True: pass',
            'import os; os.close(1); input()',
            'import os, signal; os.kill(0, signal.SIGSTOP)',
            'import signal; signal.signal(15, signal.SIG_IGN); input()',
        ):
            self.assertEqual(
                ([], 'did not end in time'), hear(script, b'', 0.1)
            )

    def test_one_that_never_stops_talking_is_killed(self):
        _, ending = hear('while True: print("a")', b'', 0.1)
        self.assertEqual('did not end in time', ending)

    def test_what_was_said_before_the_end_is_heard(self):
        with start('print("a", flush=True); input()') as child:
            select.select([child._process.stdout], [], [], LONG)
            self.assertEqual([b'a'], list(child.lines(b'', 0)))

    def test_an_endless_line_is_not_read_to_its_end(self):
        self.useFixture(
            fixtures.MockPatchObject(piped_process, 'MAX_LINE', 10_000)
        )
        script = 'print("a")\nwhile True: print(end="x" * 1000)'
        self.assertEqual((['a'], 'wrote an endless line'), hear(script))

    def test_its_memory_is_known_if_it_has_to_be_killed(self):
        with start(
            'a = b"x" * 50_000_000; print(1, flush=True); input()'
        ) as c:
            lines = c.lines(b'', LONG)
            next(lines)
            c._kill()
            self.assertGreater(c.peak_mib, 47)

    def test_nothing_is_left_of_it(self):
        before = open_files(), children()
        for script in ('pass', 'print(1); input()', 'raise SystemExit(1)'):
            hear(script, b'', 0.2)
            with contextlib.suppress(KeyError), start(script):
                raise KeyError
            with start(script) as child:
                next(child.lines(b'', LONG), None)
        self.assertEqual(before, (open_files(), children()))

    def test_ctrl_c_in_the_terminal_does_not_reach_it(self):
        with start('input()') as child:
            group = os.getpgid(child._process.pid)
            self.assertNotEqual(os.getpgrp(), group)

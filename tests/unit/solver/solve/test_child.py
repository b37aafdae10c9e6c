# SPDX-License-Identifier: Apache-2.0
"""The solver's child process, which leads to an answer in any case."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import time

import fixtures
from oslotest import base
import psutil

from nova_groupext.solver.solve import child
from nova_groupext.solver.solve import forked_process
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

MIB = 1024**2

# A parent that says who its child is and waits for the answers.
PARENT = """
import functools
from nova_groupext.solver.solve import child
from tests.unit.solver import builders

with child.Solver() as solver:
    print(solver._process.pid, flush=True)
    {}
    tell = functools.partial(print, flush=True)
    solver.search(builders.slow_problem(time_limit=60), on_answer=tell)
"""


# A fork server of which each child runs other code instead of a job.
FORK_SERVER = """
from nova_groupext.solver.solve import fork_server
from nova_groupext.solver.solve import worker

def run(job, memory_limit):
    {}

worker.main = run
fork_server.main({{}})
"""


def kill_on_answer(number):
    """A callback that sends the solver a signal."""

    def kill(answer):
        for server in psutil.Process().children():
            for solver in server.children():
                os.kill(solver.pid, number)

    return kill


class StandardError(fixtures.Fixture):
    """A fixture that keeps the standard error of this and child processes."""

    def _setUp(self):
        self._file = self.useFixture(fixtures.TempDir()).join('stderr')
        before = os.dup(2)
        self.addCleanup(os.close, before)
        self.addCleanup(os.dup2, before, 2)
        with open(self._file, 'wb') as file:
            os.dup2(file.fileno(), 2)

    @property
    def lines(self):
        return pathlib.Path(self._file).read_text().splitlines()


def without_stats(answer):
    return dataclasses.replace(answer, stats={})


def is_running(pid):
    """Return whether a process runs, even without a parent."""
    try:
        status = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(')')[2].split()[0] not in 'ZX'


class TestRun(base.BaseTestCase):
    def test_child_answers_like_the_search_in_this_process(self):
        for count in (4, 9):
            problem = builders.problem(racks(a=(2,), b=(3,)), group(w=count))
            self.assertEqual(
                without_stats(stages.solve(problem)),
                without_stats(child.run(problem)),
            )

    def test_every_answer_is_reported_at_once(self):
        reported = []
        problem = builders.slow_problem(time_limit=1)
        last = child.run(problem, on_answer=reported.append)
        self.assertGreater(len(reported), 1)
        self.assertEqual(without_stats(last), without_stats(reported[-1]))

    def test_best_answer_is_returned_at_the_time_limit(self):
        answer = child.run(builders.slow_problem(time_limit=1))
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertNotIn('reason', answer.stats)

    def test_memory_of_the_child_is_measured(self):
        problem = builders.problem(racks(a=(2,)), group(w=1))
        peak = child.run(problem).stats['peak_mib']
        self.assertGreater(peak, 10)
        self.assertLess(peak, child.MEMORY_LIMIT // MIB)


class TestFailure(base.BaseTestCase):
    def _assert_cut_short(self, answer, *words):
        self.assertTrue(answer.stats['cut_short'])
        for word in words:
            self.assertIn(word, answer.stats['reason'])

    def test_a_child_that_ignores_the_time_limit_is_killed(self):
        # A busy machine takes its time for the first answer.
        for seconds in (1, 2, 4, 8, 16, 32):
            problem = builders.slow_problem(time_limit=600, deadline=600)
            answer = child.run(problem, grace=seconds - 600)
            self._assert_cut_short(answer, 'did not end in time')
            if answer.status == 'placed':
                break
        self.assertEqual('placed', answer.status)
        self.assertGreater(answer.stats['peak_mib'], 10)

    def test_child_killed_before_its_first_answer_is_undecided(self):
        problem = builders.slow_problem(time_limit=60, deadline=60)
        answer = child.run(problem, grace=-60)
        self.assertEqual('undecided', answer.status)
        self._assert_cut_short(answer, 'did not end in time')

    def test_crash_keeps_the_last_answer(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGXCPU):
            answer = child.run(
                builders.slow_problem(time_limit=30),
                on_answer=kill_on_answer(number),
            )
            self.assertEqual('placed', answer.status)
            self._assert_cut_short(answer, f'signal {number.name}')

    def test_child_without_memory_is_undecided(self):
        problem = builders.problem(racks(a=(2,) * 5000), group(w=2))
        for limit in (0, 1, 16, 32):
            answer = child.run(problem, limit * MIB)
            self.assertEqual('undecided', answer.status)
            self._assert_cut_short(answer, 'memory', f'{limit} MiB')

    def test_child_that_runs_out_of_memory_keeps_the_last_answer(self):
        problem = builders.slow_problem(time_limit=30)
        for limit in range(64, 256, 16):
            answer = child.run(problem, limit * MIB)
            if answer.status == 'placed':
                break
            self._assert_cut_short(answer, 'memory', f'{limit} MiB')
        # The least with which there is a plan is not enough for all stages.
        self._assert_cut_short(answer, 'memory', f'{limit} MiB')

    def test_failed_child_has_a_reason(self):
        self.addCleanup(forked_process.stop_server)
        for code, words in (
            ('import os; os._exit(3)', 'status 3'),
            ('import os; os.abort()', 'SIGABRT, possibly for lack of memory'),
            ('print("no answer", flush=True)', 'wrote an invalid answer'),
            ('print("[]", flush=True)', 'wrote an invalid answer'),
            ('print("{{}}", flush=True)', 'wrote an invalid answer'),
            (
                'import os; os.write(1, b"{{"); os._exit(0)',
                'before it finished',
            ),
        ):
            forked_process.stop_server()
            server = FORK_SERVER.format(code)
            self.useFixture(
                fixtures.MockPatchObject(forked_process, '_CODE', server)
            )
            answer = child.run(builders.slow_problem(time_limit=30))
            self.assertEqual('undecided', answer.status)
            self._assert_cut_short(answer, words)

    def test_bug_is_undecided_with_a_reason_and_a_traceback(self):
        stderr = self.useFixture(StandardError())
        answer = child.run(
            dataclasses.replace(builders.slow_problem(), hosts=None)
        )
        self.assertEqual('undecided', answer.status)
        self._assert_cut_short(answer, 'failed: TypeError')
        self.assertTrue(stderr.lines[-1].startswith('TypeError: '))


class TestOrphans(base.BaseTestCase):
    """A child never outlives its parent, whatever the parent dies of."""

    def _assert_dies_with(self, number, wait, script=''):
        parent = subprocess.Popen(
            [sys.executable, '-c', PARENT.format(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with parent:
            pid = int(parent.stdout.readline())
            if wait:
                parent.stdout.readline()
            self.assertTrue(is_running(pid))
            parent.send_signal(number)
        for _ in range(1000):
            if not is_running(pid):
                return
            time.sleep(0.01)
        self.fail('the child goes on')

    def test_child_dies_while_it_searches(self):
        self._assert_dies_with(signal.SIGKILL, wait=True)

    def test_child_dies_with_a_terminated_parent(self):
        self._assert_dies_with(signal.SIGTERM, wait=True)

    def test_child_dies_with_an_interrupted_parent(self):
        self._assert_dies_with(signal.SIGINT, wait=True)

    def test_child_dies_while_it_waits_for_its_problem(self):
        script = 'import signal; signal.pause()'
        self._assert_dies_with(signal.SIGKILL, wait=False, script=script)

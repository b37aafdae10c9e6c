# SPDX-License-Identifier: Apache-2.0
"""Child processes of the fork server."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

from oslotest import base
import psutil

from nova_groupext.solver.solve import child
from nova_groupext.solver.solve import forked_process
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

MIB = 1024**2

# A process with a child, forked after that got its answer.
FORKED_PARENT = """
import os
import psutil
from nova_groupext.solver.solve import child
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

def run():
    return child.run(builders.problem(racks(a=(2,)), group(w=1))).status

run()
if not os.fork():
    print(run(), len(psutil.Process().children()), flush=True)
    os._exit(0)
os.wait()
print(run(), len(psutil.Process().children()), flush=True)
"""


def solve():
    """Solve a small problem; return the status and the reason."""
    answer = child.run(builders.problem(racks(a=(2,)), group(w=1)))
    return answer.status, answer.stats.get('reason')


def find_server():
    """Return the fork server of this process."""
    (server,) = psutil.Process().children()
    return server


class TestForkedProcess(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        forked_process.stop_server()
        self.addCleanup(forked_process.stop_server)

    def _start(self):
        process = forked_process.ForkedProcess('search', 500 * MIB)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_children_are_forked_by_one_server(self):
        self.assertEqual(('placed', None), solve())
        server = find_server()
        processes = [self._start(), self._start()]
        parents = [psutil.Process(each.pid).ppid() for each in processes]
        self.assertEqual([server.pid] * 2, parents)
        self.assertEqual(server, find_server())

    def test_server_has_one_thread_when_it_forks(self):
        solve()
        self.assertEqual(1, find_server().num_threads())

    def test_killed_server_is_replaced(self):
        solve()
        server = find_server()
        server.kill()
        server.wait()
        self.assertEqual(('placed', None), solve())
        self.assertNotEqual(server, find_server())

    def test_child_of_a_killed_server_ends_with_its_pipe(self):
        problem = builders.slow_problem(time_limit=60)
        with child.Solver() as solver:
            answer = next(solver.results(60, problem))
            pid = solver._process.pid
            find_server().kill()
            self.assertEqual('placed', answer['status'])
        self.assertIsNone(solver._process.wait())
        psutil.wait_procs(_find(pid), timeout=10)
        self.assertEqual([], _find(pid))

    def test_answers_of_a_child_are_read_without_its_server(self):
        answers = []

        def kill_server(answer):
            if not answers:
                find_server().kill()
            answers.append(answer)

        problem = builders.slow_problem(time_limit=1)
        answer = child.run(problem, on_answer=kill_server)
        self.assertEqual('placed', answer.status)
        self.assertGreater(len(answers), 1)
        self.assertNotIn('reason', answer.stats)

    def test_child_before_which_the_server_ends_has_no_process(self):
        self._start()
        server = find_server()
        server.suspend()
        process = self._start()
        server.kill()
        self.assertIsNone(process.pid)
        self.assertIsNone(process.wait())

    def test_forked_process_has_a_server_of_its_own(self):
        lines = subprocess.check_output(
            [sys.executable, '-c', FORKED_PARENT], text=True
        )
        self.assertEqual(['placed 1', 'placed 1'], lines.splitlines())

    def test_child_has_its_streams_only(self):
        self._start()
        folder = pathlib.Path(f'/proc/{self._start().pid}/fd')
        for _ in range(1000):
            files = sorted(int(each.name) for each in folder.iterdir())
            if files == [0, 1, 2, 3]:
                break
            time.sleep(0.001)
        # The fourth is where the answers go.
        self.assertEqual([0, 1, 2, 3], files)

    def test_child_and_server_have_process_groups_of_their_own(self):
        pid = self._start().pid
        server = find_server().pid
        for each in (server, pid):
            self.assertEqual(each, os.getpgid(each))

    def test_wait_ends_at_its_time_limit(self):
        process = self._start()
        for seconds in (0, 0.01):
            self.assertRaises(subprocess.TimeoutExpired, process.wait, seconds)
        process.kill()
        self.assertEqual(-signal.SIGKILL, process.wait())
        self.assertEqual(-signal.SIGKILL, process.wait(0))
        process.kill()

    def test_threads_have_children_of_their_own(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = [pool.submit(solve) for _ in range(16)]
        for result in results:
            self.assertEqual(('placed', None), result.result())
        self.assertEqual([], find_server().children())

    def test_stopped_server_leaves_no_file_and_no_process(self):
        files = sorted(os.listdir('/proc/self/fd'))
        solve()
        with contextlib.suppress(KeyError), child.Solver():
            raise KeyError
        forked_process.stop_server()
        self.assertEqual(files, sorted(os.listdir('/proc/self/fd')))
        self.assertEqual([], psutil.Process().children())


def _find(pid):
    """Return the running process with an id, in a list."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return [process]
    return []

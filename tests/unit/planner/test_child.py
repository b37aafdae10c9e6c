# SPDX-License-Identifier: Apache-2.0
"""The solver's process: whatever happens to it, there is an answer."""

import os
import pathlib
import signal
import threading
import time

from oslotest import base

from nova_groupext.planner import child
from nova_groupext.planner import search
from tests.unit.planner import builders
from tests.unit.planner.builders import group
from tests.unit.planner.builders import racks

MIB = 1024**2


def kill_the_child(number):
    """Send a signal to this process's child once it has begun to search."""
    children = pathlib.Path(f'/proc/self/task/{os.getpid()}/children')
    for _ in range(1000):
        time.sleep(0.01)
        for pid in map(int, children.read_text().split()):
            command = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
            if child.__name__.encode() in command:
                time.sleep(1)
                os.kill(pid, number)
                return


class TestChild(base.BaseTestCase):
    def test_it_answers_like_the_search_here(self):
        for count in (4, 9):
            problem = builders.problem(racks(a=(2,), b=(3,)), group(w=count))
            self.assertEqual(search.solve(problem), child.run(problem))

    def test_the_time_limit_ends_it_with_the_best_so_far(self):
        answer = child.run(builders.slow_problem(time_limit=2))
        self.assertEqual('placed', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertNotIn('reason', answer.stats)

    def test_a_child_that_ignores_the_time_limit_is_killed(self):
        start = time.monotonic()
        answer = child.run(builders.slow_problem(time_limit=60), grace=-56)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual('placed', answer.status)
        self.assertEqual('members', answer.stats['stage'])
        self.assertTrue(answer.stats['cut_short'])
        self.assertIn('in time', answer.stats['reason'])

    def test_a_child_killed_before_its_first_answer_leaves_it_undecided(self):
        answer = child.run(builders.slow_problem(time_limit=60), grace=-60)
        self.assertEqual('undecided', answer.status)
        self.assertTrue(answer.stats['cut_short'])
        self.assertIn('in time', answer.stats['reason'])

    def test_a_crash_leaves_what_was_found(self):
        for number in (signal.SIGKILL, signal.SIGSEGV):
            killer = threading.Thread(target=kill_the_child, args=[number])
            killer.start()
            answer = child.run(builders.slow_problem(time_limit=30))
            killer.join()
            self.assertIn(answer.status, ('placed', 'undecided'))
            self.assertIn(f'status -{number}', answer.stats['reason'])

    def test_a_child_without_memory_leaves_it_undecided(self):
        answer = child.run(builders.slow_problem(time_limit=30), 64 * MIB)
        self.assertEqual('undecided', answer.status)
        self.assertIn('ended with status', answer.stats['reason'])

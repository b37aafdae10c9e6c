# SPDX-License-Identifier: Apache-2.0
"""Background work of the API: order, failures and cancellation."""

import threading

import fixtures
from oslotest import base

from nova_groupext.api import background

PATIENCE = 10


class Work:
    """Work of a number of steps, each of which is logged."""

    def __init__(self, name, steps, log, pause=0):
        self.name, self.steps, self.pause = name, steps, pause
        self.log = log
        self.ended = threading.Event()

    def step(self):
        self.log.append(self.name)
        self.steps -= 1
        if self.steps:
            return self.pause
        self.ended.set()
        return None

    def abort(self):
        self.log.append(f'{self.name} left')


class Failing(Work):
    def step(self):
        super().step()
        raise ValueError


class TestBackground(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.log = []
        self.background = background.Background()
        self.useFixture(fixtures.MockPatchObject(background, 'THREADS', 1))

    def run_all(self, *works):
        # None is taken up before all have come.
        gate = Work('gate', 1, self.log)
        is_open = threading.Event()
        step = gate.step
        gate.step = lambda: is_open.wait(PATIENCE) and step()
        for work in (gate, *works):
            self.background.add(work)
        is_open.set()
        for work in works:
            self.assertTrue(work.ended.wait(PATIENCE))

    def test_long_work_lets_short_work_pass(self):
        self.run_all(Work('long', 3, self.log), Work('short', 1, self.log))

        self.assertEqual(['gate', 'long', 'short', 'long', 'long'], self.log)

    def test_waiting_work_occupies_no_thread(self):
        self.run_all(
            Work('waits', 2, self.log, pause=0.2), Work('works', 3, self.log)
        )

        self.assertEqual(['gate', 'waits', *['works'] * 3, 'waits'], self.log)

    def test_failed_work_does_not_stop_other_work(self):
        self.run_all(Failing('bad', 1, self.log), Work('good', 2, self.log))

        self.assertEqual(['gate', 'bad', 'good', 'good'], self.log)

    def test_pending_work_is_cancelled_once(self):
        waiting = Work('waits', 2, self.log, pause=PATIENCE)
        done = Work('done', 1, self.log)
        self.run_all(done)
        self.background.add(waiting)

        self.background.abort()
        self.background.abort()

        self.assertEqual(1, self.log.count('waits left'))
        self.assertNotIn('done left', self.log)

    def test_cancelled_work_takes_no_further_step(self):
        left, last = Work('left', 3, self.log), Work('last', 3, self.log)
        step = left.step

        def abort():
            pause = step()
            self.background.abort()
            self.background.add(last)
            return pause

        left.step = abort
        self.background.add(left)

        self.assertTrue(last.ended.wait(PATIENCE))
        self.assertEqual(['left', 'left left', *['last'] * 3], self.log)

    def test_cancelled_work_is_not_started(self):
        cancel, pending, last = (
            Work(name, 1, self.log) for name in ('cancel', 'pending', 'last')
        )
        is_pending = threading.Event()
        step = cancel.step

        def abort():
            is_pending.wait(PATIENCE)
            self.background.abort()
            self.background.add(last)
            return step()

        cancel.step = abort
        self.background.add(cancel)
        self.background.add(pending)
        is_pending.set()

        self.assertTrue(last.ended.wait(PATIENCE))
        self.assertNotIn('pending', self.log)

    def test_threads_end_with_the_work(self):
        for _turn in range(2):
            self.run_all(Work('one', 1, self.log))
            for thread in threading.enumerate():
                if thread.name == 'vrt-background':
                    thread.join(PATIENCE)
                    self.assertFalse(thread.is_alive())

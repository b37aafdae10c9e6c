# SPDX-License-Identifier: Apache-2.0
"""Work that goes on in nova-api behind the answer to a request.

A few threads take the pieces of work in turn, one step at a time, so that a
long piece does not keep the short ones waiting. They start when there is
something to do and end when there is not: nothing is there before nova-api
forks its workers.
"""

import atexit
import functools
import heapq
import itertools
import threading
import time

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

THREADS = 4


class Background:
    """The work of one process."""

    def __init__(self):
        # Guards the others; threads wait on it for work that is due.
        self._changed = threading.Condition()
        self._waiting = []  # of (when it is due, number, work)
        self._numbers = itertools.count()
        self._under_way = set()
        self._threads = 0

    def add(self, work):
        """Take up a piece of work.

        :param work: has ``step()``, which returns the seconds until the next
            step, or None at the end, and ``break_off()``, for when the
            process ends before
        """
        with self._changed:
            self._under_way.add(work)
            self._put(work, 0)
            is_one_more = self._threads < THREADS
            self._threads += is_one_more
        if is_one_more:
            threading.Thread(
                target=self._run, name='vrt-background', daemon=True
            ).start()

    def break_off(self):
        """Give up what is not done, as the process ends."""
        with self._changed:
            left, self._under_way = self._under_way, set()
            self._waiting.clear()
            self._changed.notify_all()
        for work in left:
            self._guarded(work.break_off)

    def _put(self, work, pause):
        due = time.monotonic() + pause
        heapq.heappush(self._waiting, (due, next(self._numbers), work))
        self._changed.notify()

    def _run(self):
        while (work := self._next()) is not None:
            self._go_on(work, self._guarded(work.step))

    def _next(self):
        """Return the work whose step is due first; None when none waits."""
        with self._changed:
            while self._waiting:
                early = self._waiting[0][0] - time.monotonic()
                if early <= 0:
                    return heapq.heappop(self._waiting)[-1]
                self._changed.wait(early)
            self._threads -= 1
            return None

    def _go_on(self, work, pause):
        with self._changed:
            if work not in self._under_way:
                return
            if pause is None:
                self._under_way.remove(work)
            else:
                self._put(work, pause)

    def _guarded(self, function):
        """Call a function of some work; what it raises ends the work."""
        try:
            return function()
        except Exception:
            LOG.exception('Work behind the answer to a request has ended.')
            return None


@functools.cache
def of_process():
    """Return the Background of this process."""
    background = Background()
    atexit.register(background.break_off)
    return background

# SPDX-License-Identifier: Apache-2.0
"""Thread pool for work that continues after nova-api answers a request.

The threads execute the work items in turn, one step at a time, so that a long
item does not delay short ones. Threads start on demand and end when no work
waits, so none exists before nova-api forks its workers.
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
    """Scheduler of the background work of one process."""

    def __init__(self):
        # Protects the other attributes; threads wait on it for due work.
        self._changed = threading.Condition()
        self._waiting = []  # heap of (due time, number, work)
        self._numbers = itertools.count()
        self._under_way = set()
        self._threads = 0

    def add(self, work):
        """Schedule a work item, whose first step is due at once.

        :param work: object with ``step()``, which returns the seconds until
            the next step or None at the end, and ``break_off()``, called if
            the process exits earlier
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
        """Abort all unfinished work because the process exits."""
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
        """Wait for the next due step; return its work, None if none waits."""
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
        """Call a function of a work item; on an exception return None."""
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

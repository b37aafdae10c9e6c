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
        self._unfinished = set()
        self._threads = 0

    def add(self, work):
        """Schedule a work item, whose first step is due at once.

        :param work: object with ``step()``, which returns the seconds until
            the next step or None at the end, and ``abort()``, called if
            the process exits earlier
        """
        with self._changed:
            self._unfinished.add(work)
            self._schedule(work, 0)
            needs_thread = self._threads < THREADS
            self._threads += needs_thread
        if needs_thread:
            threading.Thread(
                target=self._run, name='vrt-background', daemon=True
            ).start()

    def abort(self):
        """Abort all unfinished work because the process exits."""
        with self._changed:
            aborted, self._unfinished = self._unfinished, set()
            self._waiting.clear()
            self._changed.notify_all()
        for work in aborted:
            self._call_and_log(work.abort)

    def _schedule(self, work, pause):
        due = time.monotonic() + pause
        heapq.heappush(self._waiting, (due, next(self._numbers), work))
        self._changed.notify()

    def _run(self):
        while (work := self._next()) is not None:
            self._finish_step(work, self._call_and_log(work.step))

    def _next(self):
        """Wait for the next due step; return its work, None if none waits."""
        with self._changed:
            while self._waiting:
                remaining = self._waiting[0][0] - time.monotonic()
                if remaining <= 0:
                    return heapq.heappop(self._waiting)[-1]
                self._changed.wait(remaining)
            self._threads -= 1
            return None

    def _finish_step(self, work, pause):
        with self._changed:
            if work not in self._unfinished:
                return
            if pause is None:
                self._unfinished.remove(work)
            else:
                self._schedule(work, pause)

    def _call_and_log(self, function):
        """Call a function of a work item; on an exception return None."""
        try:
            return function()
        except Exception:
            LOG.exception(
                'Background work of a request failed; it is not continued.'
            )
            return None


@functools.cache
def get_background():
    """Return the Background of this process."""
    background = Background()
    atexit.register(background.abort)
    return background

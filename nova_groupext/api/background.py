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

# Seconds after which a thread looks for what has come while it slept.
NAP = 0.5


class Background:
    """The work of one process."""

    def __init__(self):
        self._lock = threading.Lock()
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
        with self._lock:
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
        with self._lock:
            left, self._under_way = self._under_way, set()
            self._waiting.clear()
        for work in left:
            self._guarded(work.break_off)

    def _put(self, work, pause):
        due = time.monotonic() + pause
        heapq.heappush(self._waiting, (due, next(self._numbers), work))

    def _run(self):
        while (item := self._next()) is not None:
            due, _number, work = item
            early = due - time.monotonic()
            if early > 0:
                time.sleep(min(early, NAP))
                pause = max(0, early - NAP)
            else:
                pause = self._guarded(work.step)
            self._go_on(work, pause)

    def _next(self):
        with self._lock:
            if self._waiting:
                return heapq.heappop(self._waiting)
            self._threads -= 1
            return None

    def _go_on(self, work, pause):
        with self._lock:
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

# SPDX-License-Identifier: Apache-2.0
"""Threads that send requests, so that an interrupt ends none of these."""

from concurrent import futures
import threading


class Threads:
    """Calls functions in other threads; at its end it waits for them.

    An interrupt, which Python gives to the main thread, may come between any
    two lines of ``submit``, also while that starts a thread, of which then
    nobody knows. So all of them are started at once.
    """

    def __init__(self, number):
        self._pool = futures.ThreadPoolExecutor(number)
        together = threading.Barrier(number)
        try:
            for _ in self._pool.map(lambda _: together.wait(), range(number)):
                pass
        except BaseException:
            together.abort()
            self.end()
            raise

    def end(self):
        """Drop what waits, and wait for what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def call(self, function, *args):
        """Return what a function returns."""
        return self._pool.submit(function, *args).result()

    def each(self, function, values):
        """Call a function with each value; yield whenever one is done."""
        pending = [self._pool.submit(function, value) for value in values]
        for done in futures.as_completed(pending):
            yield done.result()

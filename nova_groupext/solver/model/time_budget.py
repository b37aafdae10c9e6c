# SPDX-License-Identifier: Apache-2.0
"""Time budget: the remaining part of a time limit."""

import time


class OutOfTime(Exception):
    """Expiry of the time budget before a step is complete."""


class TimeBudget:
    """Countdown from a number of seconds.

    :ivar is_cut_short: True if it, or a slice of it, cut something short
    """

    def __init__(self, seconds, whole=None):
        self.is_cut_short = False
        self._whole = whole
        self._start = time.monotonic()
        self._end = self._start + seconds

    def left(self):
        """Return the seconds left, at least 0; at 0, call expire()."""
        left = max(0.0, self._end - time.monotonic())
        if not left:
            self.expire()
        return left

    def check(self):
        """Raise OutOfTime if no time is left."""
        if not self.left():
            raise OutOfTime

    def spent(self):
        """Return the seconds since the start."""
        return time.monotonic() - self._start

    def slice(self, seconds):
        """Return a TimeBudget for a part of the time left."""
        return TimeBudget(min(seconds, self.left()), self)

    def expire(self):
        """Record that something was cut short, here and in the whole."""
        self.is_cut_short = True
        if self._whole is not None:
            self._whole.expire()

# SPDX-License-Identifier: Apache-2.0
"""Time budget: the remaining part of a time limit."""

import time


class OutOfTime(Exception):
    """Expiry of the time budget before a step is complete."""


class TimeBudget:
    """Countdown from a number of seconds.

    :ivar is_cut_short: True if it, or a slice of it, cut something short
    """

    def __init__(self, seconds, parent=None):
        self.is_cut_short = False
        self._parent = parent
        self._start = time.monotonic()
        self._end = self._start + seconds

    def remaining(self):
        """Return the remaining seconds, at least 0; at 0, call expire()."""
        remaining = max(0.0, self._end - time.monotonic())
        if not remaining:
            self.expire()
        return remaining

    def check(self):
        """Raise OutOfTime if no time remains."""
        if not self.remaining():
            raise OutOfTime

    def elapsed(self):
        """Return the seconds since the start."""
        return time.monotonic() - self._start

    def slice(self, seconds):
        """Return a TimeBudget for a part of the remaining time."""
        return TimeBudget(min(seconds, self.remaining()), self)

    def expire(self):
        """Record a cut, here and in the budget that this one is a slice of."""
        self.is_cut_short = True
        if self._parent is not None:
            self._parent.expire()

# SPDX-License-Identifier: Apache-2.0
"""Time budget: the remaining part of a time limit."""

import time
from typing import Self


class OutOfTime(Exception):
    """Expiry of the time budget before a step is complete."""


class TimeBudget:
    """Countdown from a number of seconds.

    :ivar is_cut_short: True if it, or a slice of it, cut something short
    """

    def __init__(self, seconds: float, parent: Self | None = None) -> None:
        self.is_cut_short = False
        self._parent = parent
        self._start = time.monotonic()
        self._end = self._start + seconds

    def remaining(self) -> float:
        """Return the remaining seconds, at least 0; at 0, call expire()."""
        remaining = max(0.0, self._end - time.monotonic())
        if not remaining:
            self.expire()
        return remaining

    def check(self) -> None:
        """Raise OutOfTime if no time remains."""
        if not self.remaining():
            raise OutOfTime

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._start

    def slice(self, seconds: float) -> 'TimeBudget':
        """Return the budget of a part of the remaining time."""
        return TimeBudget(min(seconds, self.remaining()), self)

    def expire(self) -> None:
        """Record a cut, here and in the budget that this one is a slice of."""
        self.is_cut_short = True
        if self._parent is not None:
            self._parent.expire()

# SPDX-License-Identifier: Apache-2.0
"""Time budgets: the remaining part of a time limit.

The solver counts the processor time of its process, so that it does the same
work on a busy machine as on an idle one. A deadline limits what its caller
waits.
"""

import time
from typing import Self

# A step that cannot ask for the time gets so much more than its share.
_MARGIN = 1.5

# Seconds of processor time that tell how busy the machine is.
_MIN_WORK = 0.02


class OutOfTime(Exception):
    """Expiry of the time budget before a step is complete."""


class TimeBudget:
    """Countdown from a number of seconds.

    :ivar is_cut_short: True if it, or a slice of it, cut something short
    """

    def __init__(self, seconds: float, parent: Self | None = None) -> None:
        self.is_cut_short = False
        self._parent = parent
        self._start = self._now()
        self._end = self._start + seconds

    def remaining(self) -> float:
        """Return the remaining seconds, at least 0; at 0, call expire()."""
        remaining = max(0.0, self._seconds_left())
        if not remaining:
            self.expire()
        return remaining

    def wall_seconds(self) -> float:
        """Return the limit of a step that does not ask for the time."""
        return self.remaining()

    def check(self) -> None:
        """Raise OutOfTime if no time remains."""
        if not self.remaining():
            raise OutOfTime

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self._now() - self._start

    def slice(self, seconds: float) -> Self:
        """Return the budget of a part of the remaining time."""
        return type(self)(min(seconds, self.remaining()), self)

    def attempt(self, seconds: float) -> Self:
        """Return a slice that cuts nothing short: something else follows."""
        budget = self.slice(seconds)
        budget._parent = None
        return budget

    def beyond(self, seconds: float) -> Self:
        """Return a budget that may exceed the remaining time."""
        return type(self)(seconds, self)

    def expire(self) -> None:
        """Record a cut, here and in the budget that this one is a slice of."""
        self.is_cut_short = True
        if self._parent is not None:
            self._parent.expire()

    def _now(self) -> float:
        return time.monotonic()

    def _seconds_left(self) -> float:
        return self._end - self._now()


class WorkBudget(TimeBudget):
    """Countdown of this process's processor time, with a deadline."""

    def __init__(
        self,
        seconds: float,
        parent: Self | None = None,
        deadline: float | None = None,
    ) -> None:
        """Start the countdown.

        :param seconds: of processor time
        :param deadline: seconds; by default that of the parent, or none
        """
        super().__init__(seconds, parent)
        self._began = time.monotonic()
        self._root: WorkBudget = self if parent is None else parent._root
        self._deadline: float | None = None
        if parent is not None:
            self._deadline = parent._deadline
        if deadline is not None:
            self._deadline = self._began + deadline

    def wall_seconds(self) -> float:
        seconds = self.remaining() * _MARGIN * self._root._wait_factor()
        if self._deadline is None:
            return seconds
        return max(0.0, min(seconds, self._deadline - time.monotonic()))

    def _wait_factor(self) -> float:
        """Return the seconds that a second of processor time took so far."""
        worked = max(self.elapsed(), _MIN_WORK)
        return max(1.0, (time.monotonic() - self._began) / worked)

    def beyond(self, seconds: float) -> Self:
        budget = super().beyond(seconds)
        if self._deadline is not None:
            budget._deadline = max(self._deadline, budget._began + seconds)
        return budget

    def _now(self) -> float:
        return time.process_time()

    def _seconds_left(self) -> float:
        left = super()._seconds_left()
        if self._deadline is None:
            return left
        return min(left, self._deadline - time.monotonic())

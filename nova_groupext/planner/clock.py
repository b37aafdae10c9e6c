# SPDX-License-Identifier: Apache-2.0
"""How much of a time limit is left."""

import time


class OutOfTime(Exception):
    """There was no time to finish what has been begun."""


class Clock:
    """Counts down from a number of seconds.

    :ivar has_struck: it, or a slice of it, has cut something short
    """

    def __init__(self, seconds, whole=None):
        self.has_struck = False
        self._whole = whole
        self._start = time.monotonic()
        self._end = self._start + seconds

    def left(self):
        """Seconds, at least 0."""
        left = max(0.0, self._end - time.monotonic())
        if not left:
            self.strike()
        return left

    def check(self):
        """Go on while there is time.

        :raises OutOfTime: there is none left
        """
        if not self.left():
            raise OutOfTime

    def spent(self):
        """Seconds since the start."""
        return time.monotonic() - self._start

    def slice(self, seconds):
        """A Clock for a part of what is left."""
        return Clock(min(seconds, self.left()), self)

    def strike(self):
        """Note that something was cut short."""
        self.has_struck = True
        if self._whole is not None:
            self._whole.strike()

# SPDX-License-Identifier: Apache-2.0
"""How much of a time limit is left."""

import time


class Clock:
    """Counts down from a number of seconds."""

    def __init__(self, seconds):
        self._start = time.monotonic()
        self._end = self._start + seconds

    def left(self):
        """Seconds, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def spent(self):
        """Seconds since the start."""
        return time.monotonic() - self._start

    def slice(self, seconds):
        """A Clock for a part of what is left."""
        return Clock(min(seconds, self.left()))

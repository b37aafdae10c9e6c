# SPDX-License-Identifier: Apache-2.0
"""Time limit of a planning, with renewal of its lease.

One deadline covers all attempts and steps: look, decide, rehearse and hold.
Each step calls it repeatedly to learn whether it may go on.
"""

import contextlib

from nova_groupext import exception
from nova_groupext.solver.model import time_budget

# Share of the remaining time that a decision may use: the plan must still be
# rehearsed and held, or decided again.
DECIDING = 0.6

# The lease is renewed whenever 1 / PARTS of it has passed.
PARTS = 4


class Deadline:
    """Time budget of a planning that also renews its lease.

    :param lease: VRTLease of the group; None where nothing is written
    :param seconds: time limit of all steps together
    """

    def __init__(self, context, lease, seconds):
        self._context = context
        self._lease = lease
        self._seconds = seconds
        self._clock = time_budget.TimeBudget(seconds)
        self._renewed = 0.0

    def go_on(self):
        """Raise when the time is over, and renew the lease when that is due.

        :raises: OutOfTime, or GroupBusy when another planner has taken the
            group over
        """
        if not self._clock.left():
            raise exception.OutOfTime(seconds=f'{self._seconds:g}')
        if self._lease is None:
            return
        if self._clock.spent() >= self._renewed:
            self._lease.renew(self._context)
            self._renewed = self._clock.spent() + self._lease.seconds / PARTS

    @contextlib.contextmanager
    def stopped(self):
        """Stop the time while the quota is checked.

        Nova asks all cells for usages, and waits for those that do not answer.
        """
        left = self._clock.left()
        try:
            yield
        finally:
            self._clock = time_budget.TimeBudget(left)
            self._renewed = 0.0

    def for_deciding(self):
        """Return the number of seconds that a decision may take.

        :raises: as go_on() does
        """
        self.go_on()
        seconds = self._clock.left() * DECIDING
        # The lease is not renewed while the solver runs.
        most = self._lease.seconds / 2 if self._lease else seconds
        return min(seconds, most)

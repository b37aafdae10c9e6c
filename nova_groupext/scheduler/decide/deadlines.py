# SPDX-License-Identifier: Apache-2.0
"""How long it may take to plan a group, and its lease meanwhile.

One deadline is over all steps, as often as they are taken: to look, decide,
rehearse and hold. Each of them asks again and again whether it may go on.
"""

import contextlib

from nova_groupext import exception
from nova_groupext.planner import clock

# Share of the time left that a decision may take: it has to be rehearsed and
# held after that, or made again.
DECIDING = 0.6

# Parts of a lease after which it is renewed.
PARTS = 4


class Deadline:
    """Counts down, and renews the lease of who works.

    :param lease: VRTLease of the group; None where nothing is written
    :param seconds: how long all steps may take together
    """

    def __init__(self, context, lease, seconds):
        self._context = context
        self._lease = lease
        self._seconds = seconds
        self._clock = clock.Clock(seconds)
        self._renewed = 0.0

    def go_on(self):
        """Go on while there is time.

        :raises: OutOfTime, or GroupBusy when another has taken the group over
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
        """Let no time pass while the quota is asked for.

        Nova asks all cells for that, and waits for those that are silent.
        """
        left = self._clock.left()
        try:
            yield
        finally:
            self._clock = clock.Clock(left)
            self._renewed = 0.0

    def for_deciding(self):
        """Return how many seconds a decision may take.

        :raises: as go_on() does
        """
        self.go_on()
        seconds = self._clock.left() * DECIDING
        # Nobody renews the lease while the solver is at work.
        most = self._lease.seconds / 2 if self._lease else seconds
        return min(seconds, most)

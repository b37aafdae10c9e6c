# SPDX-License-Identifier: Apache-2.0
"""Time limit of a planning, with renewal of its lease.

One deadline covers all attempts and steps: look, decide, rehearse and hold.
Each step calls it repeatedly to learn whether it may go on.
"""

import contextlib
import dataclasses

from nova_groupext import exception
from nova_groupext.solver.model import time_budget

# Share of the remaining time that a decision may use: the plan must still be
# rehearsed and held, or decided again.
DECISION_SHARE = 0.6

# The same if the cloud may have to be read and the group decided again.
EARLY_SHARE = 0.2

# Share of all the time that a decision may use of a processor. On a busy
# machine it takes longer, for the same result.
PROCESSOR_SHARE = 1 / 3

# The lease is renewed whenever 1 / RENEWALS_PER_LEASE of it has passed.
RENEWALS_PER_LEASE = 4


class Deadline:
    """Time budget of a planning that also renews its lease.

    :param lease: VRTLease of the group; None where nothing is written
    :param seconds: time limit of all steps together
    """

    def __init__(self, context, lease, seconds):
        self._context = context
        self._lease = lease
        self._seconds = seconds
        self._budget = time_budget.TimeBudget(seconds)
        self._renewed = 0.0

    def check(self):
        """Raise when the time is over, and renew the lease when that is due.

        :raises: OutOfTime, or GroupBusy when another planner has taken the
            group over
        """
        if not self._budget.remaining():
            raise exception.OutOfTime(seconds=f'{self._seconds:g}')
        if self._lease is None:
            return
        if self._budget.elapsed() >= self._renewed:
            self._lease.renew(self._context)
            self._renewed = (
                self._budget.elapsed()
                + self._lease.seconds / RENEWALS_PER_LEASE
            )

    @contextlib.contextmanager
    def paused(self):
        """Stop the time while the quota is checked.

        Nova asks all cells for usages, and waits for those that do not answer.
        """
        seconds = self._budget.remaining()
        try:
            yield
        finally:
            self._budget = time_budget.TimeBudget(seconds)
            self._renewed = 0.0

    def limit(self, problem, share=DECISION_SHARE):
        """Return a problem with the time that its decision may take.

        :param share: of the remaining time
        :raises: as check() does
        """
        self.check()
        seconds = self._budget.remaining() * share
        if self._lease is not None:
            # It is not renewed while the solver runs.
            seconds = min(seconds, self._lease.seconds / 2)
        work = min(seconds, self._seconds * PROCESSOR_SHARE)
        return dataclasses.replace(problem, time_limit=work, deadline=seconds)

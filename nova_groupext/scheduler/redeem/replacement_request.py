# SPDX-License-Identifier: Apache-2.0
"""Requests to a planner for other hosts while a server waits.

Members keep their holds until they hold another host: the planner swaps the
holds as a revision of the group.
"""

import collections
import threading
import time

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext.conf import CONF
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.redeem import reserve
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)

STAYS_HELD = 'it stays held'

# Seconds between requests while planners are busy.
PAUSE = 0.25

# Requests of one process that wait at a time, each in a thread of it. Creates
# may wait in 40 more, and oslo.messaging has 64: other servers need some.
MAX_WAITING = 20
_waiting = threading.BoundedSemaphore(MAX_WAITING)

# Reasons when no other host was found in time, by Outcome.
REASONS = {
    rpcapi.Outcome.NO_OTHER_HOST: 'no other host was found for it',
    rpcapi.Outcome.BUSY: 'its group or the planners were busy; retry later',
    None: 'no planner found another host in time; retry later',
}
OTHER_HOSTS_REFUSED = (
    'they also refuse the other hosts that planners found for it'
)


class ReplacementRequest:
    """Search for other hosts for one scheduler request, with a time limit.

    :param group_uuid: of the group that the request's hints name
    :param consequence: phrase about a member that gets no other host
    """

    def __init__(self, context, group_uuid, consequence=STAYS_HELD):
        self._context = context
        self._group_uuid = group_uuid
        self._consequence = consequence
        self._attempts = 0
        self._time_budget = None
        # {path: [node, ...]} that were refused.
        self._refused = collections.defaultdict(list)

    def send(self, refused_hosts, reason):
        """Ask planners to replace members, and wait for that.

        :param refused_hosts: {member path: refused node, None if it has
            none}; a member with a server on a host is never among them
        :param reason: reason of the refusal
        :raises: nova.exception.NoValidHost when they are not replaced
        """
        path = [*refused_hosts][-1]
        limit = CONF.vrt.redeem_replacement_time_limit
        if not limit:
            raise _refusal(path, reason, self._consequence)
        if self._attempts == CONF.vrt.redeem_replacement_attempts:
            raise _refusal(
                path, reason, OTHER_HOSTS_REFUSED, self._consequence
            )
        self._attempts += 1
        self._time_budget = self._time_budget or time_budget.TimeBudget(limit)
        for each, node in refused_hosts.items():
            self._refused[each] += [node] if node else []
        outcome = rpcapi.Outcome.BUSY
        if _waiting.acquire(blocking=False):
            try:
                outcome = self._wait_for_planner([*refused_hosts])
            finally:
                _waiting.release()
        if outcome != rpcapi.Outcome.DONE:
            raise _refusal(path, reason, REASONS[outcome], self._consequence)

    def _wait_for_planner(self, paths):
        """Return the Outcome, None when no planner answers in time."""
        outcome = None
        while seconds := self._time_budget.remaining():
            outcome = self._call_planner(paths, seconds)
            if outcome != rpcapi.Outcome.BUSY:
                break
            # Busy planners answer at once; another one may be free.
            time.sleep(PAUSE)
        return outcome

    def _call_planner(self, paths, seconds):
        try:
            return rpcapi.PlannerAPI().replace_members(
                self._context,
                self._group_uuid,
                {path: self._refused[path] for path in paths},
                seconds,
            )
        except messaging.MessagingException:
            LOG.exception(
                'No planner answered for VRT group %(group)s within '
                '%(seconds).1f s.',
                {'group': self._group_uuid, 'seconds': seconds},
            )
            return None


def _refusal(path, *phrases):
    return reserve.refusal(path, '; '.join(phrases))

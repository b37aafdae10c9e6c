# SPDX-License-Identifier: Apache-2.0
"""Requests to a planner for other hosts while a server waits.

Members keep their holds until they hold another host: the planner swaps the
holds as a revision of the group.
"""

import collections
import time

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext.conf import CONF
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.redeem import reserve
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)

STAYS = 'it stays held'

# Seconds between requests while planners are busy.
PAUSE = 0.25

# Reasons when no other host was found in time, by Outcome.
WHY = {
    rpcapi.Outcome.NO_OTHER_HOST: 'no other place was found for it',
    rpcapi.Outcome.BUSY: 'its group, or the planners, were busy with '
    'something else; try again a little later',
    None: 'no planner found another place in time; try again a little later',
}
NOWHERE = 'nor do the other places that planners have found for it'


class ReplacementRequest:
    """Search for other hosts for one scheduler request, with a time limit.

    :param group_uuid: of the group that the request's hints name
    :param stays: phrase about a member that gets no other host
    """

    def __init__(self, context, group_uuid, stays=STAYS):
        self._context = context
        self._group = group_uuid
        self._stays = stays
        self._asked = 0
        self._clock = None
        # {path: [node, ...]} that were refused.
        self._refused = collections.defaultdict(list)

    def find(self, places, why):
        """Ask planners to replace members, and wait for that.

        :param places: {member path: refused node, None if it has none}; a
            member with a server on a host is never among them
        :param why: reason of the refusal
        :raises: nova.exception.NoValidHost when they are not replaced
        """
        path = [*places][-1]
        limit = CONF.vrt.redeem_replacement_time_limit
        if not limit:
            raise _refusal(path, why, self._stays)
        if self._asked == CONF.vrt.redeem_replacement_attempts:
            raise _refusal(path, why, NOWHERE, self._stays)
        self._asked += 1
        self._clock = self._clock or time_budget.TimeBudget(limit)
        for each, node in places.items():
            self._refused[each] += [node] if node else []
        outcome = self._ask([*places])
        if outcome != rpcapi.Outcome.DONE:
            raise _refusal(path, why, WHY[outcome], self._stays)

    def _ask(self, paths):
        """Return the Outcome, None when no planner answers in time."""
        outcome = None
        while seconds := self._clock.left():
            outcome = self._ask_once(paths, seconds)
            if outcome != rpcapi.Outcome.BUSY:
                break
            # Busy planners answer at once; another one may be free.
            time.sleep(PAUSE)
        return outcome

    def _ask_once(self, paths, seconds):
        try:
            return rpcapi.PlannerAPI().replan(
                self._context,
                self._group,
                {path: self._refused[path] for path in paths},
                seconds,
            )
        except messaging.MessagingException:
            LOG.exception(
                'No planner answers for VRT group %(group)s within '
                '%(seconds).1f s.',
                {'group': self._group, 'seconds': seconds},
            )
            return None


def _refusal(path, *said):
    return reserve.refusal(path, '; '.join(said))

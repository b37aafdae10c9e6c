# SPDX-License-Identifier: Apache-2.0
"""Other places, found while a server waits: a planner is asked for them.

Whatever comes of it, members keep what they hold until they hold another
place: what is decided is held by the planner, as a revision of the group.
"""

import collections
import time

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext.conf import CONF
from nova_groupext.planner import clock
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.redeem import reserving

LOG = logging.getLogger(__name__)

STAYS = 'it stays held'

# Seconds after which planners that are busy are asked again.
PAUSE = 0.25

# What is said when there is no other place in time.
WHY = {
    rpcapi.Outcome.IN_VAIN: 'no other place was found for it',
    rpcapi.Outcome.BUSY: 'its group, or the planners, were busy with '
    'something else; try again a little later',
    None: 'no planner found another place in time; try again a little later',
}
NOWHERE = 'nor do the other places that planners have found for it'


class Search:
    """Looks for places of one request, for a limited time.

    :param group_uuid: of the group that the request points to
    """

    def __init__(self, context, group_uuid):
        self._context = context
        self._group = group_uuid
        self._asked = 0
        self._clock = None
        # {path: [node, ...]} that were refused.
        self._refused = collections.defaultdict(list)

    def find(self, places, why):
        """Have members placed anew.

        :param places: [reserving.Place] that are refused; their members are
            held, and no server's
        :param why: they are refused
        :raises: nova.exception.NoValidHost when they have to stay
        """
        path = places[-1].member.path
        limit = CONF.vrt.redeem_replan_time_limit
        if not limit:
            raise _refusal(path, why, STAYS)
        if self._asked == CONF.vrt.redeem_replan_attempts:
            raise _refusal(path, why, NOWHERE, STAYS)
        self._asked += 1
        self._clock = self._clock or clock.Clock(limit)
        for each in places:
            self._refused[each.member.path].append(each.hold.node)
        outcome = self._ask([each.member.path for each in places])
        if outcome != rpcapi.Outcome.DONE:
            raise _refusal(path, why, WHY[outcome], STAYS)

    def _ask(self, paths):
        """Return the Outcome, None when no planner answers in time."""
        outcome = None
        while seconds := self._clock.left():
            outcome = self._ask_once(paths, seconds)
            if outcome != rpcapi.Outcome.BUSY:
                break
            # Planners do not keep one waiting; another may have time.
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
    return reserving.refusal(path, '; '.join(said))

# SPDX-License-Identifier: Apache-2.0
"""Requests to planners to place members while their servers wait.

1. Store a create for the servers, and wake a planner.
2. Wait until the create has ended, at most for the option's time. One query
   answers for all requests that wait in this process.
3. If it was placed, its members are reserved for the servers, which redeem
   them: then delete it. Otherwise give it up.

A crash leaves the create, which ends by itself; then the reaper frees the
reserved members, see membership/settle_group.py.
"""

import threading
import time

from nova import exception as nova_exc
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import rpcapi
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)

# Seconds between two looks at the creates that wait.
PAUSE = 0.25

NO_PLANNER = 'no planner is running; retry when one does'
WAS_DELETED = 'its VRT group was deleted'
NO_ANSWER = 'no planner has found a host in time; retry later'


class Waiting:
    """The creates that wait in this process.

    One of the waiting threads looks for all of them.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._uuids = set()
        self._ended = {}

    def wait(self, context, create, budget):
        """Return the create as it has ended.

        :returns: None when the time is over, or the create was removed
        :param budget: time_budget.TimeBudget
        """
        self._uuids.add(create.uuid)
        try:
            while remaining := budget.remaining():
                pause = min(PAUSE, remaining)
                if self._lock.acquire(timeout=pause):
                    try:
                        self._look(context, pause)
                    finally:
                        self._lock.release()
                if create.uuid in self._ended:
                    return self._ended[create.uuid]
        finally:
            self._uuids.discard(create.uuid)
            self._ended.pop(create.uuid, None)
        return None

    def _look(self, context, pause):
        """Read the creates that have ended; if there are none, wait.

        :param pause: seconds
        """
        ended = VRTCreate.list_ended(context, [*self._uuids])
        self._ended |= {
            uuid: each for uuid, each in ended.items() if uuid in self._uuids
        }
        if not ended:
            time.sleep(pause)


_waiting = Waiting()


def place(context, group, hint, matching, server_uuids, why):
    """Have members placed and reserved for servers.

    :param group: VRTGroup
    :param hint: path in the servers' hints
    :param matching: what of the group describes such servers
    :param why: reason why the servers cannot have members that are held
    :returns: the VRTCreate, to be removed when the members are redeemed
    :raises: nova.exception.NoValidHost when they are not placed
    """
    seconds = CONF.vrt.redeem_replacement_time_limit
    if not seconds:
        raise _refusal(why)
    if not VRTPlanner.is_any_alive(context, CONF.vrt.heartbeat_interval):
        raise _refusal(NO_PLANNER, why)
    budget = time_budget.TimeBudget(seconds)
    try:
        create = VRTCreate.start(
            *(context, group, hint, matching, server_uuids),
            seconds=seconds,
            limit=CONF.vrt.max_waiting_creates,
            project_limit=CONF.vrt.max_waiting_creates_per_project,
        )
    except exception.TooManyWaiting as exc:
        raise _refusal(exc.format_message(), why) from exc
    _wake_planner(context, group.uuid)
    ended = _waiting.wait(context, create, budget)
    if ended is None or ended.status == states.Create.PLACED:
        if create.give_up(context):
            was_deleted = (
                budget.remaining()
                and VRTGroup.find_by_id(context, group.id) is None
            )
            raise _refusal(WAS_DELETED if was_deleted else NO_ANSWER, why)
        return create
    raise _refusal(ended.fault)


def _wake_planner(context, group_uuid):
    try:
        rpcapi.PlannerAPI().serve_group(context, group_uuid)
    except messaging.MessagingException:
        # Planners also look for creates from time to time.
        LOG.exception('No planner could be told of VRT group %s.', group_uuid)


def _refusal(*reasons):
    return nova_exc.NoValidHost(reason='; '.join(reasons))

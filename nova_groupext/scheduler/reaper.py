# SPDX-License-Identifier: Apache-2.0
"""What nobody else finishes, step by step.

Every step may be taken by several planners at once and as often as one likes:
what one has done, another finds done. What is unknown is not touched.

1. Groups that expired give up what nobody has redeemed.
2. Creates that nobody hears of any more are concluded.
3. Servers are followed: who failed or was deleted frees its member.
4. Holds are compared with Placement, and with the hosts there are.
5. What was written down and came to nothing is marked as leaving.
6. What leaves is emptied in Placement and forgotten.
7. Groups take the status that their members give them.
8. Groups that were deleted are forgotten when nothing of them is left.
9. Groups that no planner works on are planned.
10. What is free on hosts that groups have to themselves is held by fillers.
    It has a short interval of its own, because Nova gives back what a deleted
    server had by itself.
"""

import datetime

from oslo_log import log as logging
from oslo_utils import timeutils

from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import follow
from nova_groupext.scheduler import redeem
from nova_groupext.scheduler import releasing

LOG = logging.getLogger(__name__)

Event = notifications.Event


def expire(context):
    """Give up the members that nobody created in time."""
    for group in VRTGroup.list_expired(context, timeutils.utcnow()):
        if group.expire(context):
            LOG.info('VRT group %s has expired.', group.uuid)
            notifications.of_group(context, Event.EXPIRE, group)


def to_conclude(context):
    """Return the members whose create nobody hears of any more."""
    return VRTMember.list_stuck(context, timeutils.utcnow() - _lease())


def conclude(context, ledger, member):
    """Find out what became of a create."""
    hold = VRTHold.get_by_member(context, member.id)
    if hold is not None:
        before = timeutils.utcnow() - _lease()
        redeem.conclude(context, ledger, member, hold, before)


def to_follow():
    """Return what is looked at: servers, holds, hosts."""
    return (follow.follow_servers, follow.follow_holds, follow.follow_hosts)


def abandon(context):
    """Let those holds leave that never became their members'."""
    lifetime = datetime.timedelta(seconds=releasing.REQUEST_LIFETIME)
    before = timeutils.utcnow() - lifetime
    holds = VRTHold.list_unfinished(context, before)
    VRTHold.retire(context, holds, is_answered=True)


def empty(context, ledger):
    """Give back what leaves."""
    for hold in VRTHold.list_by_status(context, states.Hold.LEAVING):
        releasing.leave(context, hold, ledger)


def settle(context):
    """Let groups follow their members, where who changed these has died."""
    VRTGroup.settle_all(context)


def to_release(context):
    """Return the groups that were deleted and are still there."""
    return VRTGroup.list_releasing(context)


def to_plan(context):
    """Return the groups whose planner died, or whose cast was lost."""
    return VRTGroup.list_abandoned(context, timeutils.utcnow() - _lease())


def to_keep(context):
    """Return the groups that have, or had, hosts to themselves."""
    return VRTGroup.list_exclusive(context)


def _lease():
    return datetime.timedelta(seconds=CONF.vrt.lease)

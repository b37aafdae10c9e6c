# SPDX-License-Identifier: Apache-2.0
"""What nobody else finishes, step by step.

Every step may be taken by several planners at once and as often as one likes:
what one has done, another finds done. What is unknown is not touched.

1. Groups that expired give up what nobody has redeemed, and others what was
   held for as long as anything may be.
2. Creates that nobody hears of any more are finished.
3. Servers are followed: who failed or was deleted frees its member.
4. Holds are compared with the hosts there are, and with Placement: two
   requests tell of which providers anything has changed. Those for resizes
   are compared with the servers, too.
5. What ends is emptied in Placement, but of groups that have hosts to
   themselves: see 12.
6. What requests may have filled late is looked at, and emptied once more:
   after 2, 10 and 60 minutes, and a day.
7. What has ended long ago is forgotten.
8. Groups that were deleted are forgotten when nothing of them is left.
9. What is broken where everybody is now is noted as drift.

These have rounds of their own, which nothing above waits for. Decisions take
time; and Nova gives back what a deleted server had by itself:

10. Groups that wait to be planned, or that a planner has left, are served.
11. Members that have failed are placed anew, if the operator wants that.
12. What is free on hosts that groups have to themselves, or ends there, is
    held by fillers.
"""

from oslo_log import log as logging

from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import resizes
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.protocol import redeem

LOG = logging.getLogger(__name__)

Event = notifications.Event


def expire(context):
    """Give up the members that nobody created in time."""
    for group in VRTGroup.list_expired(context):
        if transitions.expire(context, group):
            LOG.info('VRT group %s has expired.', group.uuid)
            notifications.of_group(context, Event.EXPIRE, group)
    lifetime = CONF.vrt.max_hold_lifetime
    for group in VRTGroup.list_held_long(context, lifetime):
        if transitions.end_lifetime(context, group, lifetime):
            LOG.info(
                'VRT group %(group)s gives up what was held for %(seconds)d '
                's.',
                {'group': group.uuid, 'seconds': lifetime},
            )
            notifications.of_group(context, Event.EXPIRE, group)


def to_conclude(context):
    """Return the members whose create nobody hears of any more."""
    return redeem.overdue(context)


def conclude(context, ledger, member):
    """Finish a create, if it is not finished yet."""
    hold = VRTHold.get_by_member(context, member.id)
    if hold is not None:
        redeem.finish(context, ledger, member, hold)


def to_follow():
    """Return what is looked at in Nova: servers, hosts."""
    return follow.follow_servers, follow.follow_hosts


def to_compare():
    """Return what is compared with Placement, as far as that has changed."""
    return follow.follow_holds, resizes.follow_growths


def empty(context, ledger):
    """Give back what ends, but of groups that are to be alone."""
    emptying.empty(context, ledger, VRTHold.list_to_empty(context))


def watch(context, ledger):
    """Look whether requests have come late."""
    emptying.watch(context, ledger)


def forget_ended(context):
    """Forget holds that have ended long ago."""
    VRTHold.forget_ended(context, CONF.vrt.tombstone_lifetime)


def empty_stray(context, ledger, finding):
    """Empty a consumer that no row is responsible for."""
    ledger.empty_consumer(context, finding.consumer)


def to_release(context):
    """Return the groups that were deleted and are still there."""
    return VRTGroup.list_releasing(context)


def to_replan(context):
    """Return [(group, elsewhere)] of the groups with members to place anew.

    That is {path: [the node where it has failed]}, see VRTGroup.elsewhere. A
    member that was tried often enough is not among them. One whose hold a
    swap has lost is tried once in any case, and may go back to its node.
    """
    most = CONF.vrt.replan_failed
    groups = VRTGroup.list_with_failed(context, most)
    return [(group, _elsewhere(context, group, most)) for group in groups]


def _elsewhere(context, group, most):
    plan = VRTPlan.newest(context, group.id)
    nodes = plan.hosts() if plan else {}
    lost = VRTHold.lost_members(context, group.id)
    elsewhere = {}
    for member in group.members:
        is_lost = member.id in lost
        if member.status != states.Member.FAILED or (
            member.replans >= max(most, is_lost)
        ):
            continue
        is_barred = member.path in nodes and not is_lost
        elsewhere[member.path] = [nodes[member.path]] if is_barred else []
    return elsewhere


def to_check(context):
    """Return [(group, domains)] of the groups whose places may break rules."""
    groups = VRTGroup.list_with_policies(context)
    domains = groups and hosts.Domains(context, vrt.levels(CONF))
    return [(group, domains) for group in groups]


def to_keep(context):
    """Return the groups that have, or had, hosts to themselves."""
    return VRTGroup.list_exclusive(context)

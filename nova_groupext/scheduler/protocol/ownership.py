# SPDX-License-Identifier: Apache-2.0
"""Transitions by which a hold is redeemed or ends, together with its member.

A hold and its member change in one transaction or not at all, so that no
reader finds a HELD member without a hold.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.placement import overcommitment

LOG = logging.getLogger(__name__)

Event = notifications.Event

ACTIVE = {'status': states.Member.ACTIVE}

# The new values of a member whose hold overcommits its provider.
OVERCOMMITTED = {
    'status': states.Member.FAILED,
    'fault': overcommitment.FAULT,
}


def redeem(context, hold, member, group_uuid=None):
    """Store that a member's server owns the allocation of its hold.

    :param hold: VRTHold in state REDEEMING
    :param member: its VRTMember
    :param group_uuid: for the log; to find it costs a query
    :returns: False when another process has changed one of them
    """
    if not _change(context, redeems.redeem, hold, member, ACTIVE):
        return False
    _log_change(context, hold, member, group_uuid)
    notifications.notify_member(context, Event.REDEEM, member)
    return True


def end(context, hold, member, values):
    """End a hold and update its member, unless another process has ended it.

    Placement is not changed: the owner of the lease, or the reaper, empties a
    hold that is RELEASING.

    :param hold: VRTHold; a HELD one becomes RELEASING, any other RELEASED
    :param member: VRTMember that the hold belongs to
    :param values: new values of the member, its status among them
    :returns: whether the hold and the member were changed
    """
    previous_status = hold.status
    if not _change(context, redeems.end_hold, hold, member, values):
        return False
    _log_change(context, hold, member)
    if previous_status != states.Hold.REDEEMED:
        notifications.notify_member(context, Event.LOSE_HOLD, member)
    return True


def end_overcommitted(context, placement_client, holds):
    """End those of some holds that overcommit their providers.

    Their members become FAILED, the holds RELEASING: Placement has them still.

    :param holds: VRTHolds in state HELD
    :returns: the overcommitted VRTHolds, also those ended by another process
    :raises: PlacementUnavailable
    """
    overcommitted = overcommitment.overcommitted_holds(
        context, placement_client, holds
    )
    for hold in overcommitted:
        member = hold.member_id and VRTMember.find_by_id(
            context, hold.member_id
        )
        if member:
            end(context, hold, member, OVERCOMMITTED)
        else:
            redeems.end_hold(context, hold)
    return overcommitted


def end_reservation(context, reservation, reason):
    """End a resize reservation, unless another process has changed it.

    :param reservation: VRTHold in state HELD
    :param reason: a phrase for the log
    """
    if redeems.end_hold(context, reservation):
        LOG.info(
            'Resize reservation %(hold)s on %(host)s ends: %(why)s.',
            {
                'hold': reservation.uuid,
                'host': reservation.host,
                'why': reason,
            },
        )


def _change(context, transition, hold, member, values):
    try:
        changed = member.status_change(**values)
    except exception.MemberStateConflict:
        return False
    if not transition(context, hold, changed):
        return False
    for name, value in values.items():
        setattr(member, name, value)
    return True


def _log_change(context, hold, member, group_uuid=None):
    if group_uuid is None:
        # The group may have been deleted and purged meanwhile.
        group = VRTGroup.find_by_id(context, hold.group_id)
        group_uuid = group and group.uuid
    LOG.info(
        'VRT group %(group)s: hold %(hold)s on %(host)s is %(status)s; '
        'member %(member)s is %(member_status)s, server %(server)s: %(fault)s',
        {
            'group': group_uuid,
            'hold': hold.uuid,
            'host': hold.host,
            'status': hold.status,
            'member': member.path,
            'member_status': member.status,
            'server': member.server_uuid,
            'fault': member.fault,
        },
    )

# SPDX-License-Identifier: Apache-2.0
"""How a promise ends: a hold is redeemed, or ends, with what that entails.

A hold and its member change in one transaction, or not at all: nobody ever
finds a member that is held without a hold.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import verification

LOG = logging.getLogger(__name__)

Event = notifications.Event

ACTIVE = {'status': states.Member.ACTIVE}

# The new values of a member whose hold is more than there is.
TOO_MUCH = {
    'status': states.Member.FAILED,
    'fault': verification.IS_TOO_MUCH,
}


def redeem(context, hold, member):
    """Let a member be the server that owns what was held.

    :param hold: VRTHold in state REDEEMING
    :param member: its VRTMember
    :returns: False when somebody else has changed one of them
    """
    if not _change(context, transitions.redeem, hold, member, ACTIVE):
        return False
    notifications.of_member(context, Event.REDEEM, member)
    return True


def end(context, hold, member, values):
    """Let a hold end, unless somebody else has ended it.

    What it owns is emptied by whoever looks after that.

    :param hold: VRTHold; one that was HELD is RELEASING then
    :param member: VRTMember whose hold it is
    :param values: what of the member changes, with its status
    :returns: whether it was changed
    """
    was = hold.status
    if not _change(context, transitions.end_hold, hold, member, values):
        return False
    if was != states.Hold.REDEEMED:
        notifications.of_member(context, Event.LOSE_HOLD, member)
    return True


def end_overcommitted(context, ledger, holds):
    """End those of some holds that are more than there is; see verification.

    Their members fail. Placement has them still: RELEASING.

    :param ledger: ledger.Ledger
    :param holds: VRTHolds in state HELD
    :returns: those that have ended, by this or by somebody else
    :raises: PlacementUnavailable
    """
    lost = verification.losers(context, ledger, holds)
    for hold in lost:
        member = hold.member_id and VRTMember.find_by_id(
            context, hold.member_id
        )
        if member:
            end(context, hold, member, TOO_MUCH)
        else:
            transitions.end_hold(context, hold)
    return lost


def end_growth(context, growth, why):
    """Let what is held for a resize end, unless it changes hands just now.

    :param growth: VRTHold in state HELD
    :param why: a phrase for the log
    """
    if transitions.end_hold(context, growth):
        LOG.info(
            'Growth %(hold)s on %(host)s ends: %(why)s.',
            {'hold': growth.uuid, 'host': growth.host, 'why': why},
        )


def _change(context, transition, hold, member, values):
    try:
        changed = member.changed(**values)
    except exception.MemberStateConflict:
        return False
    if not transition(context, hold, changed):
        return False
    for name, value in values.items():
        setattr(member, name, value)
    group = VRTGroup.brief(context, hold.group_id)
    LOG.info(
        'VRT group %(group)s: hold %(hold)s on %(host)s is %(status)s; '
        'member %(member)s is %(fate)s, server %(server)s: %(fault)s',
        {
            # It may have been deleted and forgotten meanwhile.
            'group': group and group.uuid,
            'hold': hold.uuid,
            'host': hold.host,
            'status': hold.status,
            'member': member.path,
            'fate': member.status,
            'server': member.server_uuid,
            'fault': member.fault,
        },
    )
    return True

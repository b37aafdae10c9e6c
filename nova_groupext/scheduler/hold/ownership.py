# SPDX-License-Identifier: Apache-2.0
"""Whose a member's capacity is, and the one way to change that.

A hold, its member and what takes the hold's place change in one transaction,
or not at all: nobody ever finds a member with two owners, or one that is held
without a hold.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.hold import exclusive

LOG = logging.getLogger(__name__)

Event = notifications.Event

# What becomes of a member whose server did not, or will never, use its hold.
HELD_AGAIN = {
    'status': states.Member.HELD,
    'server_uuid': None,
    'fault': None,
}


def change(context, ledger, hold, status, member, values, heir=None):
    """Let a hold end, unless somebody else has ended it.

    :param ledger: ledger.Ledger
    :param hold: VRTHold; one that leaves is emptied, or else by the reaper
    :param status: the hold's: REDEEMED or LEAVING
    :param member: VRTMember whose hold it is
    :param values: what of the member changes, with its status
    :param heir: VRTHold in state WRITING that takes the hold's place
    :returns: whether it was changed
    """
    try:
        changed = member.changed(**values)
    except exception.MemberStateConflict:
        return False
    was = hold.status
    if not transitions.end_hold(context, hold, status, changed, heir=heir):
        return False
    for name, value in values.items():
        setattr(member, name, value)
    _tell(context, hold, was, member, heir)
    if status == states.Hold.LEAVING:
        exclusive.give_back(context, ledger, [hold])
    return True


def left_behind(context, ledger, hold):
    """Return what one who died has held in a hold's place, or None.

    Only for a hold of which nothing is in Placement any more: nobody may get
    its capacity besides.
    """
    for heir in VRTHold.list_heirs(context, hold):
        if ledger.allocations(context, heir.uuid):
            return heir
    return None


def _tell(context, hold, was, member, heir):
    group = VRTGroup.brief(context, hold.group_id)
    LOG.info(
        'VRT group %(group)s: hold %(hold)s on %(host)s is %(status)s; '
        '%(member)s',
        {
            # It may have been deleted and forgotten meanwhile.
            'group': group and group.uuid,
            'hold': hold.uuid,
            'host': hold.host,
            'status': hold.status,
            'member': _fate(member, heir),
        },
    )
    if hold.status == states.Hold.REDEEMED:
        notifications.of_member(context, Event.REDEEM, member)
    elif heir is None and was != states.Hold.REDEEMED:
        notifications.of_member(context, Event.LOSE_HOLD, member)


def _fate(member, heir):
    if heir is not None:
        return f'it goes on as {heir.uuid}'
    return (
        f'member {member.path} is {member.status}, server '
        f'{member.server_uuid}: {member.fault}'
    )

# SPDX-License-Identifier: Apache-2.0
"""What becomes of a redeem: the rows say whose the capacity is.

Whoever finds that out may be the scheduler that began it, a second one with
the same request, or the reaper, and all at once: ownership.change lets one of
them say it.
"""

import time

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.redeem import reserving

# How often, and after how many seconds, one looks what a fence has come to.
PATIENCE, PAUSE = 20, 0.25

LEAVING = states.Hold.LEAVING

# What becomes of a member whose create is concluded.
ACTIVE = {'status': states.Member.ACTIVE}
GONE = {'status': states.Member.FAILED, 'fault': reserving.HOLD_IS_GONE}


def close(context, ledger, member, hold):
    """The capacity is the server's: remember it.

    :returns: False when somebody else has found out what becomes of the hold
    """
    return ownership.change(
        context, ledger, hold, states.Hold.REDEEMED, member, ACTIVE
    )


def prevails(context, ledger, member):
    """A swap succeeded whose hold another has concluded meanwhile.

    Placement compares the generation of a consumer that is emptied before it
    reads what is to be emptied. Who moves a hold between the two has moved
    it, and the swap is accepted all the same. So the rows decide.

    :param member: VRTMember as it was when its hold was swapped
    :returns: whether the member has become the server; if not, what was taken
        is given back
    """
    for _attempt in range(PATIENCE):
        fresh = VRTMember.find_by_id(context, member.id)
        if not _is_its(fresh, member.server_uuid):
            ledger.empty_consumer(context, member.server_uuid)
            return False
        if fresh.status != states.Member.REDEEMING:
            break
        time.sleep(PAUSE)
    return True


def _is_its(member, server_uuid):
    """Tell whether a member, which may be forgotten, is or becomes a server.

    One that has failed for a server, or was released, is not its any more.
    """
    return (
        member is not None
        and member.server_uuid == server_uuid
        and member.status in states.IN_USE
    )


def conclude(context, ledger, member, hold, before=None):
    """Find out whether a redeem took place, and let the rows say so.

    First the hold moves to a new uuid, so that no swap under way can succeed
    later. Where it cannot be moved, the server's allocation tells.

    :param ledger: ledger.Ledger
    :param member: VRTMember in state REDEEMING
    :param before: when another who does the same must have begun to be dead
    :returns: whether the capacity is the server's
    :raises: PlacementUnavailable; the reaper asks again
    """
    if not hold.claim(context, before):
        return ledger.has_swapped(context, hold, member.server_uuid)
    heir = _move(context, ledger, hold)
    if heir and ledger.has_swapped(context, hold, member.server_uuid):
        # Both were accepted, see prevails(): the server keeps it.
        exclusive.undo(context, ledger, [heir])
        close(context, ledger, member, hold)
        return True
    if heir is None:
        # Its server has it, or one who has moved it before and died.
        if ledger.has_swapped(context, hold, member.server_uuid):
            close(context, ledger, member, hold)
            return True
        heir = ownership.left_behind(context, ledger, hold)
    if heir is None:
        ownership.change(context, ledger, hold, LEAVING, member, GONE)
        return False
    ownership.change(
        context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
    )
    return False


def take_back(context, ledger, member_id, server_uuid):
    """Hold again what a server has redeemed that will not be built.

    Whoever dies here leaves it to the server, for the reaper to find.

    :param server_uuid: of the server; it is left alone if it is not the
        member's any more
    """
    member = VRTMember.find_by_id(context, member_id)
    hold = member and VRTHold.get_by_member(context, member_id)
    if hold is None or member.server_uuid != server_uuid:
        return
    [heir] = holding.write_down_again(context, [hold])
    if not ledger.take_back(context, server_uuid, heir):
        VRTHold.retire(context, [heir], is_answered=True)
        return
    if not ownership.change(
        context, ledger, hold, LEAVING, member, ownership.HELD_AGAIN, heir
    ):
        exclusive.undo(context, ledger, [heir])


def _move(context, ledger, hold):
    """Move a claimed hold to a new uuid.

    :returns: the new VRTHold, or None when the old one holds nothing
    """
    [heir] = holding.write_down_again(context, [hold])
    if ledger.move(context, hold, heir):
        return heir
    VRTHold.retire(context, [heir], is_answered=True)
    return None

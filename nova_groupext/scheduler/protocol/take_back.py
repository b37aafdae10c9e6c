# SPDX-License-Identifier: Apache-2.0
"""Take back: what a server has that nobody will build is held again.

1. *write down* the successor of the hold, for the same place.
2. *swap back*, one request: the server's consumer is emptied, the successor's
   filled.
3. *commit*, one transaction: the hold ends, its member is HELD by the
   successor.

=============  =====================================  ========================
who dies at    leaves behind                          and who goes on
=============  =====================================  ========================
after 1        a row that owns nothing                the reaper removes it,
                                                      and begins anew
after 2        a row that owns it; the server does    the reaper finds it: 3
               not
=============  =====================================  ========================

Never from a server that Nova may still build or run: that is asked before.
"""

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.hold import ownership


def take_back(context, ledger, member_id, server_uuid):
    """Hold again what a server has redeemed.

    :param ledger: ledger.Ledger
    :param server_uuid: of the server; it is left alone if it is not the
        member's any more
    :returns: whether the member is held again; not if the server has nothing
    :raises: PlacementUnavailable; whoever comes next goes on
    """
    member = VRTMember.find_by_id(context, member_id)
    hold = member and VRTHold.get_by_member(context, member_id)
    if hold is None or member.server_uuid != server_uuid:
        return False
    successor = ownership.left_behind(context, ledger, hold)
    if successor is None:
        if not ledger.allocations(context, server_uuid):
            return False
        [successor] = holding.write_down_again(context, [hold])
        if not ledger.take_back(context, server_uuid, successor):
            VRTHold.retire(context, [successor], is_answered=True)
            return False
    is_held = ownership.change(
        *(context, ledger, hold, states.Hold.LEAVING),
        *(member, ownership.HELD_AGAIN, successor),
    )
    if not is_held:
        exclusive.undo(context, ledger, [successor])
    return is_held

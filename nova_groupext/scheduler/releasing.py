# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: what was given up goes back to everybody.

What to give back is read from the members' states, which the API or an
expiry has changed before; doing it twice, or later, does the same.
"""

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import holding


def release(context, group, ledger):
    """Empty the holds of released members; forget a group that was deleted.

    :raises: HoldFailed, PlacementUnavailable; the rest is done next time
    """
    if group.status in states.HOLDS_NOTHING:
        holding.roll_back(context, group, ledger)
        return
    if group.status == states.Group.RELEASING:
        group.give_up(context)
    released = {
        member.id
        for member in group.members
        if member.status == states.Member.RELEASED
    }
    kept = []
    for hold in VRTHold.list_by_group(context, group.id):
        if hold.member_id in released:
            ledger.empty(context, hold)
        else:
            kept.append(hold)
    if group.status == states.Group.RELEASING:
        _forget(context, group, kept)


def _forget(context, group, kept):
    """Remove the rows, unless a create is still under way."""
    if any(hold.status != states.Hold.REDEEMED for hold in kept):
        return
    for hold in kept:
        hold.destroy(context)
    group.destroy(context)

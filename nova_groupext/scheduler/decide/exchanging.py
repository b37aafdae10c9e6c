# SPDX-License-Identifier: Apache-2.0
"""What is held makes room for what is to be held instead.

Nobody has less than it had at any instant: where one needs the room of
another, all of these change in one request to Placement. Until the rows say
so nothing is promised, and all of it changes back.
"""

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.hold import growths
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.hold import ownership


def exchange(context, ledger, rows, leaving, renew):
    """Write new holds, where need be instead of old ones.

    :param rows: VRTHolds in state WRITING
    :param leaving: VRTHolds that are not needed after that
    :param renew: see holding.hold
    :raises: HoldFailed, PlacementUnavailable
    """
    full = {hold.provider_uuid for hold in leaving}
    beside = [row for row in rows if row.provider_uuid not in full]
    instead = [row for row in rows if row.provider_uuid in full]
    holding.hold(context, ledger, beside, renew)
    if instead:
        hosts = {row.provider_uuid for row in instead}
        renew()
        ledger.hold(
            context,
            instead,
            [hold for hold in leaving if hold.provider_uuid in hosts],
        )
    if verification.losers(context, ledger, instead):
        raise exception.HoldFailed(
            reason='another allocation was written at the same time'
        )


def _restore(context, ledger, members, holds):
    """Hold what was exchanged in vain, each for itself."""
    for hold in holds:
        if hold.is_growth:
            growths.restore(context, ledger, hold)
        elif not hold.is_filler:
            member = members[hold.member_id]
            follow.restore(context, ledger, [(hold, member)])
    # What fillers are needed is found by who keeps the group alone.


def change_back(context, ledger, group, holds, written):
    """Hold again what was emptied for something else, in one request.

    :param group: VRTGroup
    :param holds: its VRTHolds that were HELD, some of which were emptied
    :param written: VRTHolds that were WRITING, and took their place
    """
    # Somebody may have ended some of them meanwhile, or taken them for left
    # over, and forgotten them: but for that they own what they have got.
    holds = VRTHold.still(context, holds, states.Hold.HELD)
    written = [
        hold
        for hold in VRTHold.renewed(context, written)
        if hold.status not in states.PROMISED
    ]
    lost = [
        hold for hold in holds if not ledger.allocations(context, hold.uuid)
    ]
    if not lost:
        return
    members = {member.id: member for member in group.members}
    heirs = holding.write_down_again(context, lost)
    try:
        ledger.hold(context, heirs, written)
    except exception.HoldFailed:
        # Somebody else was faster: each for itself, as far as it goes.
        holding.undo(context, ledger, [*heirs, *written])
        _restore(context, ledger, members, lost)
        return
    for hold, heir in zip(lost, heirs, strict=True):
        member = members.get(hold.member_id)
        if not _replace(context, ledger, hold, member, heir):
            # It was not emptied by us: its server has it by now.
            holding.undo(context, ledger, [heir])


def _replace(context, ledger, hold, member, heir):
    """Return False when somebody else has ended the hold."""
    if member is None:
        return growths.replace(context, ledger, hold, heir)
    return ownership.change(
        *(context, ledger, hold, states.Hold.LEAVING),
        *(member, ownership.HELD_AGAIN, heir),
    )

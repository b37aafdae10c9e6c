# SPDX-License-Identifier: Apache-2.0
"""Hold again: a place of which Placement has nothing, or something else.

A swap of one hold onto its own place: the old consumer is emptied only if
somebody has left something of it. One that is missing is filled once more
before: Placement may have kept its amounts and lost the record. On a host that
the group has to itself fillers give way in the same request, if a stranger has
come.
"""

from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.hold import filling
from nova_groupext.scheduler.protocol import swap as protocol


def hold_again(context, ledger, lease, hold, check=lambda: None):
    """Hold a place under a new uuid.

    :param ledger: ledger.Ledger
    :param lease: VRTLease of its group
    :param hold: VRTHold in state HELD, or REDEEMED by a server that owns
        nothing and never will
    :param check: raises what speaks against it; called without arguments,
        while nobody else changes the group, nor counts for its project
    :returns: whether it is held; if not, its member has failed if it was HELD
    :raises: GenerationConflict when the hold has changed meanwhile;
        PlacementUnavailable and GroupBusy as swap.make() does
    """
    group = VRTGroup.get_brief(context, hold.group_id)
    giving_way, others = filling.make_room(context, ledger, hold)
    olds = [hold, *giving_way]
    successors = swaps.pair(olds, [hold.again(), *others])
    is_missing = hold.status == states.Hold.HELD and not ledger.allocations(
        context, hold.uuid
    )

    def work():
        check()
        swaps.prepare(context, lease, olds)
        if is_missing:
            hold.note_lost(context)
        return VRTHold.create_all(context, successors)

    def write_down():
        return swaps.write_down(context, lease, work)

    with faultpoints.around('again.prepare'):
        created = quota.serialised(context, group.project_id, write_down)
    swap = swaps.Swap(olds, created)
    if is_missing:
        # Else amounts that Placement has kept would be in the way.
        ledger.refill(context, hold.uuid, hold)

    def commit():
        swaps.commit(
            context, lease, swap, swaps.Side.MADE, may_be=states.Member
        )

    protocol.make(context, ledger, lease, swap, commit, reads=True)
    again = [each for each in created if not each.is_filler]
    return bool(VRTHold.still(context, again, states.Hold.HELD))

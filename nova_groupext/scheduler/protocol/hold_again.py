# SPDX-License-Identifier: Apache-2.0
"""Hold again: a hold whose allocation is missing or wrong gets a new uuid.

This is a swap (see swap.py) of one hold onto its own provider:

1. *prepare*, one transaction, as in swap.py. If Placement shows nothing for a
   HELD hold, the hold is marked lost.
2. A lost hold's consumer is filled once more: Placement may have kept the
   amounts without the consumer's record.
3. *apply* and *commit*, as in swap.py. On an exclusive host, placeholders
   make room in the same request if a foreign consumer has come.

After a crash, the next owner of the lease finishes the swap.
"""

from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol import swap as protocol


def hold_again(context, ledger, lease, hold, check=lambda: None):
    """Replace a hold by one of the same host and amounts with a new uuid.

    :param ledger: PlacementClient
    :param lease: VRTLease of its group
    :param hold: VRTHold in state HELD, or REDEEMED by a server that owns
        nothing and never will
    :param check: raises when the hold must not be replaced; called without
        arguments, with the locks of the group and of its project
    :returns: whether the successor is HELD; otherwise the member of a HELD
        hold has failed
    :raises: GenerationConflict when the hold has changed meanwhile;
        PlacementUnavailable and GroupBusy as swap.make() does
    """
    group = VRTGroup.get_brief(context, hold.group_id)
    giving_way, others = placeholders.make_room(context, ledger, hold)
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
        # Amounts that Placement keeps without a record would be in the way.
        ledger.refill(context, hold.uuid, hold)

    def commit():
        swaps.commit(
            context, lease, swap, swaps.Side.MADE, may_be=states.Member
        )

    protocol.make(context, ledger, lease, swap, commit, reads=True)
    again = [each for each in created if not each.is_placeholder]
    return bool(VRTHold.still(context, again, states.Hold.HELD))

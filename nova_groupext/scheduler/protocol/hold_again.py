# SPDX-License-Identifier: Apache-2.0
"""Hold again: a hold whose allocation is missing or wrong gets a new uuid.

This is a swap (see swap.py) of one hold onto its own provider:

1. *prepare*, one transaction, as in swap.py. If Placement shows nothing for a
   HELD hold, the hold is marked lost.
2. A lost hold's consumer is filled once more: Placement may have kept the
   amounts without the consumer's record.
3. *apply* and *commit*, as in swap.py. If a foreign consumer has come to an
   exclusive host, the same request replaces placeholders by smaller ones.

After a crash, the next owner of the lease finishes the swap.
"""

import contextlib
import functools

from nova_groupext import faultpoints
from nova_groupext import quota
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects import swaps
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.protocol import placeholders
from nova_groupext.scheduler.protocol.swap import apply_and_commit


def hold_again(context, placement_client, lease, hold, check=lambda: None):
    """Replace a hold by one of the same host and amounts with a new uuid.

    :param lease: VRTLease of its group
    :param hold: VRTHold in state HELD, or REDEEMED by a server that owns
        nothing and never will
    :param check: raises when the hold must not be replaced; called without
        arguments, with the locks of the group and of its project
    :returns: whether the successor is HELD; otherwise the member of a HELD
        hold has failed
    :raises: GenerationConflict when the hold has changed meanwhile;
        PlacementUnavailable and GroupBusy as swap.apply_and_commit() does
    """
    displaced, smaller = placeholders.changes_for_hold(
        context, placement_client, hold
    )
    old_holds = [hold, *displaced]
    successors = swaps.pair_successors(old_holds, [hold.duplicate(), *smaller])
    is_missing = _is_missing(context, placement_client, hold)

    def write():
        check()
        swaps.prepare(context, lease, old_holds)
        if is_missing:
            watched_holds.mark_lost(context, hold)
        return VRTHold.create_all(context, successors)

    created = _prepare(context, lease, hold, write)
    if is_missing:
        # Amounts that Placement keeps without a record would be in the way.
        placement_client.refill(context, hold.uuid, hold)
    swap = swaps.Swap(old_holds, created)
    commit = functools.partial(
        swap_results.commit, context, lease, swap, swaps.Side.APPLIED
    )
    apply_and_commit(
        context, placement_client, lease, swap, commit, reads_generation=True
    )
    replacements = [each for each in created if not each.is_placeholder]
    return bool(VRTHold.in_status(context, replacements, states.Hold.HELD))


def _is_missing(context, placement_client, hold):
    """Check whether Placement has nothing of a hold that should own it."""
    return (
        hold.status == states.Hold.HELD
        and not placement_client.allocations(context, hold.uuid)
    )


@contextlib.contextmanager
def lease_if_changed(context, placement_client, leases, hold):
    """Yield the lease of a group if the allocations of its hold differ.

    None while another planner has the lease, and for a hold that has ended or
    was redeemed since it was read: its row changes before Placement.

    :param leases: leases.Leases
    :param hold: VRTHold in state HELD
    """
    with leases.owning(context, placement_client, hold.group_id) as lease:
        is_changed = (
            lease is not None
            and VRTHold.in_status(context, [hold], states.Hold.HELD)
            and placement_client.allocations(context, hold.uuid)
            != hold.allocations
        )
        yield lease if is_changed else None


def _prepare(context, lease, hold, write):
    """Write the rows of the swap with all locks; return its successors."""
    group = VRTGroup.get_row(context, hold.group_id)

    def work():
        return swaps.with_lease(context, lease, write)

    with faultpoints.around('hold_again.prepare'):
        return quota.with_project_lock(context, group.project_id, work)

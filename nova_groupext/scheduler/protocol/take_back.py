# SPDX-License-Identifier: Apache-2.0
"""Take back: the capacity of a server that Nova will not build is held again.

1. *prepare*, one transaction: the hold is EXCHANGING; its successor, with the
   same allocation, is WRITING.
2. *apply*, one request: the server's consumer is emptied, if it owns
   anything, and the successor's is filled.
3. *commit*, one transaction: the hold is RELEASED, its member HELD by the
   successor.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
after 1        EXCHANGING; the server owns the        next owner of the lease:
               capacity                               2, 3
after 2        EXCHANGING; the successor owns it      next owner of the lease:
                                                      3
=============  =====================================  ========================

The caller first makes sure that Nova can neither build nor run the server. So
the request can be repeated until the successor owns the capacity.
"""

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import swap_results
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.placement import http

Side = swaps.Side

# Attempts to send the request, before the take back is left for later.
MAX_ATTEMPTS = 5


def take_back(context, placement_client, lease, hold):
    """Hold the capacity of a redeemed hold's server again.

    :param lease: VRTLease of its group
    :param hold: VRTHold in state REDEEMED
    :returns: whether the successor was filled
    :raises: PlacementUnavailable when that is unknown: the lease must not be
        released; GroupBusy when another planner has the group
    """
    successor = hold.duplicate()
    successor.set_predecessor(None)

    def work():
        swaps.prepare(context, lease, [hold])
        return VRTHold.create_all(context, [successor])

    try:
        created = swaps.with_lease(context, lease, work)
    except exception.GenerationConflict:
        return False
    swap = swaps.Swap([hold], created)
    side, lost = finish(context, placement_client, swap)
    # An earlier request may still be on its way: the rows are watched.
    swap_results.commit(
        *(context, lease, swap, side, lost),
        is_watched=True,
    )
    return side == Side.APPLIED


def is_take_back(swap):
    """Check whether a swap takes back the capacity of a server."""
    is_redeemed = any(old.server_uuid for old in swap.old_holds)
    return is_redeemed and not any(
        each.if_compensated for each in swap.successors
    )


def finish(context, placement_client, swap):
    """Fill the successor, unless it owns the capacity; return (Side, ()).

    :raises: PlacementUnavailable when the result is unknown
    """
    [old], [successor] = swap.old_holds, swap.successors
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            http.pause(attempt)
        if placement_client.allocations(context, successor.uuid):
            return Side.APPLIED, ()
        try:
            with faultpoints.around('take_back.apply'):
                placement_client.take_back(context, old.server_uuid, successor)
        except exception.HoldFailed:
            # The server's allocation has changed, or the capacity is taken.
            continue
        return Side.APPLIED, ()
    return Side.COMPENSATED, ()

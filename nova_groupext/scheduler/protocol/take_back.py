# SPDX-License-Identifier: Apache-2.0
"""Take back: what a server has that nobody will build is held again.

1. *prepare*, one transaction: the hold is EXCHANGING; its successor, of the
   same place, is WRITING.
2. *swap back*, one request: the server's consumer is emptied, if it has
   anything, the successor's is filled.
3. *commit*, one transaction: the hold is RELEASED, its member HELD by the
   successor.

=============  =====================================  ========================
who dies at    leaves behind                          and who goes on
=============  =====================================  ========================
after 1        EXCHANGING; the server owns it         who takes the lease: 2
after 2        EXCHANGING; the successor owns it      who takes the lease: 3
=============  =====================================  ========================

Never from a server that Nova may still build or run: that is asked before. So
the request may be sent again, until the successor owns the capacity.
"""

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import ledger as placement

Side = swaps.Side

# How often the request is sent before that is left for later.
ATTEMPTS = 5


def take_back(context, ledger, lease, hold):
    """Hold again what the server of a hold has.

    :param ledger: ledger.Ledger
    :param lease: VRTLease of its group
    :param hold: VRTHold in state REDEEMED
    :returns: whether it is held again
    :raises: PlacementUnavailable when that is not known: the lease is to be
        left; GroupBusy when another has taken the group over
    """
    successor = hold.again()
    successor.succeed(None)

    def work():
        swaps.prepare(context, lease, [hold])
        return VRTHold.create_all(context, [successor])

    try:
        created = swaps.write_down(context, lease, work)
    except exception.GenerationConflict:
        return False
    swap = swaps.Swap([hold], created)
    side, lost = finish(context, ledger, swap)
    # Of a request that was not answered another one may have been sent.
    swaps.commit(
        *(context, lease, swap, side, lost),
        may_be=states.Member,
        is_watched=True,
    )
    return side == Side.MADE


def is_one(swap):
    """Tell whether a swap takes back what a server has."""
    is_redeemed = any(old.server_uuid for old in swap.olds)
    return is_redeemed and not any(each.otherwise for each in swap.successors)


def finish(context, ledger, swap):
    """Take back, unless that is done; returns (Side, uuids of the lost)."""
    [old], [successor] = swap.olds, swap.successors
    for attempt in range(ATTEMPTS):
        if attempt:
            placement.pause(attempt)
        if ledger.allocations(context, successor.uuid):
            return Side.MADE, ()
        try:
            with faultpoints.around('back.post'):
                ledger.take_back(context, old.server_uuid, successor)
        except exception.HoldFailed:
            # Somebody has changed what it has; or its place is gone.
            continue
        return Side.MADE, ()
    return Side.IN_VAIN, ()

# SPDX-License-Identifier: Apache-2.0
"""A seat whose hold is changed or ends is held again, under a new uuid."""

from nova_groupext import exception
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import filling
from nova_groupext.scheduler.hold import ownership


def hold_again(context, ledger, hold, write_down, replace):
    """Hold a seat under a new uuid; fillers there give way.

    :param hold: VRTHold of the seat so far
    :param write_down: gives a new hold of the seat, in state WRITING
    :param replace: called with what holds the seat now; returns False when
        somebody else has ended the hold so far
    :returns: False when there is no room for it
    :raises: what write_down raises, but for GroupNotFound
    """
    heir = ownership.left_behind(context, ledger, hold)
    try:
        if heir is None:
            heir = write_down()
            filling.make_way(context, ledger, heir)
        fits = not verification.losers(context, ledger, [heir])
    except exception.GroupNotFound:
        # It was forgotten since the hold was read, and that with it.
        return False
    except exception.HoldFailed:
        fits = False
    if not fits or not replace(heir):
        exclusive.undo(context, ledger, [heir])
    return fits

# SPDX-License-Identifier: Apache-2.0
"""Step 4, hold: a whole plan goes into Placement, or nothing of it.

The rows are written down first: whatever happens to this process, they say
what may be found in Placement. They count for nothing until the group, its
members and they become HELD in one transaction (transitions.hold); the
reaper gives back what never came so far.
"""

import itertools

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying


def write_down(context, members, placement, others=()):
    """Return new VRTHold rows, in state WRITING, of all that are placed.

    :param members: VRTMembers, at least those that are placed
    :param placement: as VRTPlan has it
    :param others: VRTHolds, not created yet, that belong to it: fillers, and
        what is for resizes
    """
    by_path = {member.path: member for member in members}
    with faultpoints.around('hold.write_down'):
        return VRTHold.create_all(
            context,
            [
                *(
                    VRTHold.of(by_path[path], seat)
                    for path, seat in placement.items()
                ),
                *others,
            ],
        )


def write_down_again(context, holds):
    """Return heirs of holds: the same seats, under uuids of their own."""
    with faultpoints.around('move.write_down'):
        return VRTHold.create_all(context, [hold.again() for hold in holds])


def hold(context, ledger, rows, renew):
    """Write holds into Placement, a few at a time.

    :param rows: VRTHold rows in state WRITING
    :param ledger: ledger.Ledger
    :param renew: called before each request; raises when another planner has
        taken the group over
    :raises: HoldFailed, PlacementUnavailable, or what ``renew`` raises; what
        was held is given back then, if need be by the reaper
    """
    unanswered = []
    try:
        for chunk in _chunks(rows, CONF.vrt.hold_chunk_size):
            renew()
            unanswered = chunk
            ledger.hold(context, chunk)
            unanswered = []
        if verification.losers(context, ledger, rows):
            raise exception.HoldFailed(
                reason='another allocation was written at the same time'
            )
    except exception.VRTException as exc:
        if isinstance(exc, exception.HoldFailed):
            unanswered = []
        undo(context, ledger, [r for r in rows if r not in unanswered])
        raise


def undo(context, ledger, rows):
    """Give back rows about which Placement has answered."""
    emptying.empty(context, ledger, retired(context, rows))


def retired(context, rows):
    """Let rows leave about which Placement has answered, and return them.

    Those too that others have emptied and forgotten meanwhile: whoever was
    slow has perhaps filled them after that.
    """
    VRTHold.retire(context, rows, is_answered=True)
    for row in rows:
        row.status = states.Hold.LEAVING
    return VRTHold.renewed(context, rows)


def _chunks(rows, size):
    iterator = iter(rows)
    return iter(lambda: list(itertools.islice(iterator, size)), [])

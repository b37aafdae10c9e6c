# SPDX-License-Identifier: Apache-2.0
"""Step 4, hold: a whole plan goes into Placement, or nothing of it.

The rows are written down first: whatever happens to this process, they say
what may be found in Placement. They count for nothing until the group, its
members and they become HELD in one transaction (transitions.hold); whoever
has the lease next gives back what never came so far.
"""

import itertools

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import emptying


def write_down(context, lease, members, placement, others=()):
    """Return new VRTHold rows, in state WRITING, of all that are placed.

    :param lease: VRTLease of the group
    :param members: VRTMembers, at least those that are placed
    :param placement: as VRTPlan has it
    :param others: VRTHolds, not created yet, that belong to it: fillers, and
        what is for resizes
    :raises: GroupBusy when another has taken the group over
    """
    by_path = {member.path: member for member in members}
    seated = [VRTHold.of(by_path[path], s) for path, s in placement.items()]
    return store(context, lease, [*seated, *others])


def store(context, lease, rows):
    """Store new VRTHolds, in state WRITING, and return them.

    :raises: GroupBusy when another has taken the group over, GroupNotFound
    """
    return swaps.write_down(
        context, lease, lambda: VRTHold.create_all(context, rows)
    )


def hold(context, ledger, lease, rows, go_on=lambda: None):
    """Write holds into Placement, a few at a time.

    :param rows: VRTHold rows in state WRITING
    :param ledger: ledger.Ledger
    :param lease: VRTLease of their group
    :param go_on: called before each request; raises when there is no time
    :raises: HoldFailed, PlacementUnavailable, OutOfTime, or GroupBusy when
        another has taken the group over; what was held is given back then, or
        finished by whoever has the lease next
    """
    unanswered = []
    try:
        for chunk in _chunks(rows, CONF.vrt.hold_chunk_size):
            go_on()
            lease.renew(context)
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
    """Let rows end about which Placement has answered, and return them.

    Those too that others have ended and emptied meanwhile: whoever was slow
    has perhaps filled them after that.
    """
    VRTHold.retire(context, rows)
    for row in rows:
        row.status = states.Hold.RELEASING
    return rows


def _chunks(rows, size):
    iterator = iter(rows)
    return iter(lambda: list(itertools.islice(iterator, size)), [])

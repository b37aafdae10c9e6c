# SPDX-License-Identifier: Apache-2.0
"""Step 4, hold: a whole plan is written to Placement, or nothing of it.

1. One transaction: the rows are stored, WRITING. They say what Placement may
   have, whatever happens to this process, and do not count as capacity yet.
2. Requests of `holds_per_request` holds each fill the consumers.
3. The providers are read: a hold that overcommits one fails the whole plan.
   If there are many, only those that other clients have changed as well.
4. `transitions.hold_group`, one transaction: group, members, holds are HELD.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
after 1 to 3   WRITING, filled or not                 next owner of the lease:
                                                      the rows are RELEASING
=============  =====================================  ========================
"""

from nova_groupext import chunks
from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement import own_changes
from nova_groupext.scheduler.protocol import release_holds


def insert_plan(context, lease, members, placements, others=()):
    """Store and return VRTHolds, in state WRITING, for all placed members.

    :param lease: VRTLease of the group
    :param members: VRTMembers, at least those that are placed
    :param placements: {path: MemberPlacement}
    :param others: further VRTHolds of the plan, not stored yet: placeholders
        and resize reservations
    :raises: GroupBusy when another planner has taken the group over,
        GroupNotFound
    """
    by_path = {member.path: member for member in members}
    holds = [
        VRTHold.for_member(by_path[path], placement)
        for path, placement in placements.items()
    ]
    return insert_pending(context, lease, [*holds, *others])


def insert_pending(context, lease, rows):
    """Store new VRTHolds, in state WRITING, and return them.

    :raises: GroupBusy when another planner has the group, GroupNotFound
    """
    return swaps.with_lease(
        context, lease, lambda: VRTHold.create_all(context, rows)
    )


def hold(context, placement_client, lease, rows, check_deadline=lambda: None):
    """Fill the consumers of holds in Placement, in chunks.

    :param rows: VRTHold rows in state WRITING
    :param lease: VRTLease of their group
    :param check_deadline: called before each request; raises OutOfTime
    :raises: HoldFailed, PlacementUnavailable, OutOfTime, or GroupBusy when
        another planner has taken the group over. The holds are released then;
        the next owner of the lease releases a chunk without an answer.
    """
    sent, unanswered = [], []
    try:
        check_deadline()
        own = own_changes.OwnChanges(context, placement_client, rows)
        for chunk in chunks.chunked(rows, CONF.vrt.holds_per_request):
            check_deadline()
            lease.renew(context)
            unanswered = chunk
            sent += chunk
            placement_client.hold(context, chunk)
            unanswered = []
            own.count(chunk)
        if overcommitment.overcommitted_holds(
            context, placement_client, rows, own.changed_by_others()
        ):
            raise exception.HoldFailed(
                reason='a concurrent allocation overcommitted a host'
            )
    except exception.VRTException as exc:
        if isinstance(exc, exception.HoldFailed):
            unanswered = []
        answered = sent[: len(sent) - len(unanswered)]
        release_pending(context, placement_client, answered)
        unsent = abandon_answered(context, rows[len(sent) :])
        VRTHold.release_all(context, unsent)
        raise


def release_pending(context, placement_client, rows):
    """Release rows about which Placement has answered."""
    release_holds.release(
        context, placement_client, abandon_answered(context, rows)
    )


def abandon_answered(context, rows):
    """Abandon rows about which Placement has answered, and return them.

    Also rows that others have emptied: a slow request may have filled them.
    """
    VRTHold.abandon(context, rows)
    for row in rows:
        row.status = states.Hold.RELEASING
    return rows

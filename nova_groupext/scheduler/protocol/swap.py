# SPDX-License-Identifier: Apache-2.0
"""Swap: one request replaces holds by their successors. A saga of five steps.

0. The rows are stored: WRITING. Holds that fit beside the old ones are filled
   and verified on their own, before anything is prepared.
1. *prepare*, one transaction: everything that may fail is checked. The old
   holds become EXCHANGING. Each is paired with a successor, WRITING, which
   stores the new allocation and the one that it gets by compensation.
2. *apply*, one request: the old holds' consumers are emptied, the successors'
   are filled with the new allocations. Nothing is checked after it.
3. *commit*, one transaction: the old holds are RELEASED, the successors HELD,
   and the change that the swap was for takes effect.
4. The providers are read: a successor that overcommits one ends.

If the result of 2 is unknown, because Placement refused it or did not answer,
or because a planner died, the swap is *finished*:

=====================  =======================================================
Placement shows        then
=====================  =======================================================
successors only        it was applied or compensated: commit what they own
no successor           *compensate*: the same request with the old allocations.
                       It uses the successors' uuids, so that the first request
                       can never succeed. Commit that. If another consumer has
                       taken the capacity of an old hold, try the new
                       allocations again, then the old ones of the holds that
                       still own them; the other members fail.
both                   a request has landed between the reads: read again.
                       If nothing changes, a late refill of hold_again.py has
                       filled an old hold: commit what the successors own; the
                       old hold is emptied
=====================  =======================================================

The old holds are read first: once they are empty the result is final.

=============  =====================================  ========================
crash          left behind                            finished by
=============  =====================================  ========================
before 1       WRITING, nothing EXCHANGING            next owner of the lease:
                                                      the rows are RELEASING
after 1        EXCHANGING and WRITING; the old holds  next owner of the lease:
               or the successors own the capacity     finish
after 2        the same                               the same
=============  =====================================  ========================

Each transaction renews the lease: a planner that has lost it writes nothing.
"""

import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects import swaps
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.placement import http
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

Side = swaps.Side

# Reads of Placement per finish(), before the swap is left for later.
MAX_ATTEMPTS = 8


def apply_and_commit(
    context, placement_client, lease, swap, commit, *, reads_generation=False
):
    """Apply a prepared swap and commit it.

    :param lease: VRTLease of the group
    :param swap: swaps.Swap as it was prepared
    :param commit: called without arguments after the request was accepted
    :param reads_generation: whether another process may have changed the old
        holds
    :returns: whether the swap was made; False when it was compensated
    :raises: PlacementUnavailable when the result is unknown: the lease must
        not be released; GroupBusy when another planner has the group
    """
    try:
        with faultpoints.around('swap.apply'):
            placement_client.replace(
                *(context, [old.uuid for old in swap.old_holds]),
                swap.successors,
                reads_generation=reads_generation,
            )
    except (exception.HoldFailed, exception.PlacementUnavailable) as exc:
        LOG.info(
            'Operation %(operation)s: the result of the swap is unknown; it '
            'is finished now: %(why)s',
            {'operation': lease.operation, 'why': exc},
        )
        side = finish(context, placement_client, lease)
        if side is None:
            # Another planner has finished the swap. Going on would plan with
            # outdated rows.
            raise exception.GroupBusy(group=lease.group_id) from exc
        if side != Side.APPLIED:
            return False
    else:
        commit()
    _verify(context, placement_client, swap)
    return True


def _verify(context, placement_client, swap):
    """End successors that overcommit their providers.

    Their members fail, as a swap cannot be undone, and are replaced once.
    """
    uuids = [each.uuid for each in swap.successors if each.allocations]
    rows = VRTHold.list_by_uuids(context, uuids)
    held = [row for row in rows if row.status == states.Hold.HELD]
    try:
        for hold in ownership.end_overcommitted(
            context, placement_client, held
        ):
            watched_holds.mark_lost(context, hold)
    except exception.PlacementUnavailable as exc:
        LOG.warning(
            'The holds of a swap could not be verified; the reaper verifies '
            'them: %s',
            exc,
        )


def finish(context, placement_client, lease):
    """Finish the unfinished swap of a group, if there is one.

    :returns: Side; None if nothing had been prepared
    :raises: as apply_and_commit() does
    """
    swap = swaps.Swap.load(context, lease.group_id)
    if swap is None:
        return None
    if swap.is_prepared:
        side, lost = _resolve(context, placement_client, lease, swap)
    else:
        # Without EXCHANGING holds no member can lose its hold.
        side, lost = Side.COMPENSATED, ()
    _commit(context, lease, swap, side, lost)
    _notify_lost_members(context, swap, side, lost)
    LOG.info(
        'Operation %(operation)s: the unfinished swap %(side)s',
        {
            'operation': lease.operation,
            'side': 'is committed.'
            if side == Side.APPLIED
            else 'is compensated.',
        },
    )
    return side if swap.is_prepared else None


def commit_draft(context, lease, group, draft, swap, *args, **kwargs):
    """Commit a revision with its project's lock; see revisions.commit()."""
    commit = functools.partial(
        revisions.commit,
        *(context, lease, group, draft, swap, *args),
        **kwargs,
    )
    with faultpoints.around('revise.commit'):
        quota.with_project_lock(context, draft.project_id, commit)


def _resolve(context, placement_client, lease, swap):
    """Return the Side of a swap, and the uuids of successors that are lost.

    A swap that was not applied before is compensated, or applied, here.
    """
    if take_back.is_take_back(swap):
        return take_back.finish(context, placement_client, swap)
    fallbacks = iter(FALLBACKS)
    before = None
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            http.pause(attempt)
        remaining, filled = sides = _read_sides(
            context, placement_client, swap
        )
        if filled and remaining and sides != before:
            before = sides
            continue
        if filled:
            side = _resulting_side(swap, filled)
            return side, _missing_uuids(swap, side, filled)
        fallback = next(fallbacks, None)
        if fallback is None:
            # Another process has changed the old holds' allocations, and their
            # capacity is taken.
            return Side.COMPENSATED, _missing_uuids(swap, Side.COMPENSATED, ())
        side, rows = fallback(swap, remaining)
        if _send(context, placement_client, lease, remaining, rows):
            return side, _missing_uuids(swap, side, _uuids(rows))
    raise exception.PlacementUnavailable(
        reason=f'the result of swap {lease.operation} is unknown'
    )


def _read_sides(context, placement_client, swap):
    """Return what the old holds own, and what the successors own.

    In this order: a request that lands in between shows up in both.
    """
    return tuple(
        _read_allocations(context, placement_client, holds)
        for holds in (swap.old_holds, swap.successors)
    )


def _read_allocations(context, placement_client, holds):
    """Return {uuid: allocations} of those holds that own something."""
    found = {
        each.uuid: placement_client.allocations(context, each.uuid)
        for each in holds
    }
    return {
        uuid: allocations for uuid, allocations in found.items() if allocations
    }


def _compensate_all(swap, _remaining):
    """Return the compensation that restores all old allocations."""
    return Side.COMPENSATED, _compensations(swap, _uuids(swap.old_holds))


def _apply(swap, _remaining):
    """Return the swap itself: a removed old hold's capacity may be taken."""
    return Side.APPLIED, [each for each in swap.successors if each.allocations]


def _compensate_remaining(swap, remaining):
    """Return the compensation of those old holds that still own something."""
    return Side.COMPENSATED, _compensations(swap, remaining)


# Requests to send one after the other, while Placement refuses them.
FALLBACKS = (_compensate_all, _apply, _compensate_remaining)


def _compensations(swap, uuids):
    """Return the successors with the old allocations of some old holds."""
    return [
        each.as_compensated()
        for each in swap.successors
        if each.if_compensated and each.if_compensated['uuid'] in uuids
    ]


def _send(context, placement_client, lease, remaining, rows):
    """Empty old holds and fill successors; return whether that was done.

    :param remaining: uuids of the old holds that own something
    :raises: PlacementUnavailable
    """
    if not rows:
        return False
    try:
        with faultpoints.around('swap.compensate'):
            placement_client.replace(
                context, remaining, rows, reads_generation=True
            )
    except exception.HoldFailed as exc:
        LOG.info(
            'Operation %s: Placement refused to finish the swap: %s',
            lease.operation,
            exc,
        )
        return False
    return True


def _uuids(holds):
    return {hold.uuid for hold in holds}


def _resulting_side(swap, filled):
    """Return the Side that the successors' allocations match best.

    :param filled: {uuid: allocations}
    """

    def count_mismatches(side):
        expected = _expected_allocations(swap, side)
        mismatches = [
            uuid
            for uuid, allocations in filled.items()
            if expected.get(uuid) != allocations
        ]
        return len(mismatches), len(_missing_uuids(swap, side, filled))

    return min(Side, key=count_mismatches)


def _expected_allocations(swap, side):
    """Return {uuid: allocations} that the successors own on a Side."""
    rows = swap.successors if side == Side.APPLIED else swap.as_compensated()
    return {each.uuid: each.allocations for each in rows if each.allocations}


def _missing_uuids(swap, side, filled):
    """Return the uuids of successors that should own something, but do not."""
    return _expected_allocations(swap, side).keys() - set(filled)


def _notify_lost_members(context, swap, side, lost):
    """Send notifications of the members that lost their holds by a swap."""
    rows = swap.holds_after(side)
    ids = [row.member_id for row in rows if row.uuid in lost]
    for member in VRTMember.list_by_ids(context, ids):
        if member.status == states.Member.FAILED:
            event = notifications.Event.LOSE_HOLD
            notifications.notify_member(context, event, member)


def _commit(context, lease, swap, side, lost):
    draft_uuid = VRTGroup.find_binding_draft(context, lease.group_id)
    draft = draft_uuid and VRTGroup.get(context, draft_uuid)
    if draft is None:
        # The swap holds a member again, or takes back a server's capacity.
        swap_results.commit(
            *(context, lease, swap, side, lost),
            is_watched=True,
        )
    elif side == Side.APPLIED:
        group = VRTGroup.get_row(context, lease.group_id)
        commit_draft(
            *(context, lease, group, draft, swap),
            lost=lost,
            is_watched=True,
        )
        revised = VRTGroup.get(context, group.uuid)
        notifications.notify_revision(context, group, revised)
    else:
        revisions.compensate(context, lease, draft, swap, lost)

# SPDX-License-Identifier: Apache-2.0
"""Swap: one request replaces holds by their successors. A saga of five steps.

0. The rows are stored: WRITING. Holds that fit beside the old ones are filled
   and verified on their own, before anything is prepared.
1. *prepare*, one transaction: everything that may fail is checked. The old
   holds become EXCHANGING. Each is paired with a successor, WRITING, which
   stores the new allocation and the one that it gets by compensation.
2. *apply*, one request: the old holds' consumers are emptied, the successors'
   are filled with the new allocations. From here there is no way back.
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
                       taken the capacity of an old hold, apply again, too; if
                       that is refused its member fails.
both                   a request has landed between the reads: read again
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
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

Side = swaps.Side

# Reads of Placement per finish(), before the swap is left for later.
ATTEMPTS = 8


def make(context, ledger, lease, swap, commit, *, reads=False):
    """Apply a prepared swap and commit it.

    :param ledger: PlacementClient
    :param lease: VRTLease of the group
    :param swap: swaps.Swap as it was prepared
    :param commit: called without arguments after the request was accepted
    :param reads: whether another process may have changed the old holds
    :returns: whether the swap was made; False when it was compensated
    :raises: PlacementUnavailable when the result is unknown: the lease must
        not be released; GroupBusy when another planner has the group
    """
    try:
        with faultpoints.around('swap.apply'):
            ledger.exchange(context, swap.olds, swap.successors, reads=reads)
    except (exception.HoldFailed, exception.PlacementUnavailable) as exc:
        LOG.info(
            'Operation %(operation)s: a swap is not known to be made: %(why)s',
            {'operation': lease.operation, 'why': exc},
        )
        side = finish(context, ledger, lease)
        if side is None:
            # Another planner has finished the swap. Going on would plan with
            # outdated rows.
            raise exception.GroupBusy(group=lease.group_id) from exc
        if side != Side.MADE:
            return False
    else:
        commit()
    _verify(context, ledger, swap)
    return True


def _verify(context, ledger, swap):
    """End successors that overcommit their providers.

    Their members fail, as a swap cannot be undone, and are replaced once.
    """
    uuids = [each.uuid for each in swap.successors if each.allocations]
    rows = VRTHold.list_by_uuids(context, uuids)
    held = [row for row in rows if row.status == states.Hold.HELD]
    try:
        for hold in ownership.end_overcommitted(context, ledger, held):
            hold.note_lost(context)
    except exception.PlacementUnavailable as exc:
        LOG.warning('The reaper verifies what a swap has filled: %s', exc)


def finish(context, ledger, lease):
    """Finish the unfinished swap of a group, if there is one.

    :returns: Side; None if nothing had been prepared
    :raises: as make() does
    """
    swap = swaps.Swap.of(context, lease.group_id)
    if swap is None:
        return None
    if swap.is_prepared:
        side, lost = _find_out(context, ledger, lease, swap)
    else:
        # Without EXCHANGING holds no member can lose its hold.
        side, lost = Side.COMPENSATED, ()
    _commit(context, lease, swap, side, lost)
    _tell(context, swap, side, lost)
    LOG.info(
        'Operation %(operation)s: what was begun %(side)s',
        {
            'operation': lease.operation,
            'side': 'counts.' if side == Side.MADE else 'is undone.',
        },
    )
    return side if swap.is_prepared else None


def commit_revision(context, lease, group, draft, swap, *args, **kwargs):
    """Commit a revision with its project's lock; see revisions.commit()."""
    commit = functools.partial(
        revisions.commit,
        *(context, lease, group, draft, swap, *args),
        **kwargs,
    )
    with faultpoints.around('revise.commit'):
        quota.serialised(context, draft.project_id, commit)


def _find_out(context, ledger, lease, swap):
    """Return the Side of a swap, and the uuids of successors that are lost.

    A swap that was not applied before is compensated, or applied, here.
    """
    if take_back.is_one(swap):
        return take_back.finish(context, ledger, swap)
    remedies = iter(REMEDIES)
    for attempt in range(ATTEMPTS):
        if attempt:
            placement_client.pause(attempt)
        # In this order: a request that lands in between shows up in both.
        there = _having(context, ledger, swap.olds)
        shown = _having(context, ledger, swap.successors)
        if shown and there:
            continue
        if shown:
            side = _side(swap, shown)
            return side, _unshown(swap, side, shown)
        remedy = next(remedies, None)
        if remedy is None:
            # Another process has changed the old holds' allocations, and their
            # capacity is taken.
            return Side.COMPENSATED, _unshown(swap, Side.COMPENSATED, ())
        side, rows = remedy(swap, there)
        olds = [old for old in swap.olds if old.uuid in there]
        if _send(context, ledger, lease, olds, rows):
            return side, _unshown(swap, side, _uuids(rows))
    raise exception.PlacementUnavailable(
        reason=f'what became of swap {lease.operation} is not known'
    )


def _having(context, ledger, holds):
    """Return {uuid: allocations} of those holds that own something."""
    found = {
        each.uuid: ledger.allocations(context, each.uuid) for each in holds
    }
    return {uuid: has for uuid, has in found.items() if has}


def _compensate(swap, _there):
    """Return the compensation that restores all old allocations."""
    return Side.COMPENSATED, _turned_back(swap, _uuids(swap.olds))


def _apply(swap, _there):
    """Return the swap itself: a removed old hold's capacity may be taken."""
    return Side.MADE, [each for each in swap.successors if each.allocations]


def _compensate_those(swap, there):
    """Return the compensation of those old holds that still own something."""
    return Side.COMPENSATED, _turned_back(swap, there)


# Requests to send one after the other, while Placement refuses them.
REMEDIES = (_compensate, _apply, _compensate_those)


def _turned_back(swap, uuids):
    """Return the successors with the old allocations of some old holds."""
    return [
        each.turned_back()
        for each in swap.successors
        if each.otherwise and each.otherwise['uuid'] in uuids
    ]


def _send(context, ledger, lease, olds, rows):
    """Empty old holds and fill successors; return whether that was done.

    :raises: PlacementUnavailable
    """
    if not rows:
        return False
    try:
        with faultpoints.around('swap.compensate'):
            ledger.exchange(context, olds, rows, reads=True)
    except exception.HoldFailed as exc:
        LOG.info('Operation %s: %s', lease.operation, exc)
        return False
    return True


def _uuids(holds):
    return {hold.uuid for hold in holds}


def _side(swap, shown):
    """Return the Side that the successors' allocations match best.

    :param shown: {uuid: allocations}
    """

    def how_wrong(side):
        seats = _seats(swap, side)
        contradictions = [u for u, has in shown.items() if seats.get(u) != has]
        return len(contradictions), len(_unshown(swap, side, shown))

    return min(Side, key=how_wrong)


def _seats(swap, side):
    """Return {uuid: allocations} that the successors own on a Side."""
    rows = swap.successors if side == Side.MADE else swap.turned_back()
    return {each.uuid: each.allocations for each in rows if each.allocations}


def _unshown(swap, side, shown):
    """Return the uuids of successors that should own something, but do not."""
    return _seats(swap, side).keys() - set(shown)


def _tell(context, swap, side, lost):
    """Send notifications of the members that lost their holds by a swap."""
    rows = swap.arriving() if side == Side.MADE else swap.turned_back()
    ids = [row.member_id for row in rows if row.uuid in lost]
    for member in VRTMember.list_by_ids(context, ids):
        if member.status == states.Member.FAILED:
            event = notifications.Event.LOSE_HOLD
            notifications.of_member(context, event, member)


def _commit(context, lease, swap, side, lost):
    draft_uuid = VRTGroup.prepared_draft(context, lease.group_id)
    draft = draft_uuid and VRTGroup.get(context, draft_uuid)
    if draft is None:
        # The swap holds a member again, or takes back a server's capacity.
        swaps.commit(
            *(context, lease, swap, side, lost),
            may_be=states.Member,
            is_watched=True,
        )
    elif side == Side.MADE:
        group = VRTGroup.get_brief(context, lease.group_id)
        commit_revision(
            *(context, lease, group, draft, swap),
            lost=lost,
            is_watched=True,
        )
        revised = VRTGroup.get(context, group.uuid)
        notifications.decided(context, revised, 'revised')
    else:
        revisions.turn_back(context, lease, draft, swap, lost)

# SPDX-License-Identifier: Apache-2.0
"""Swap: what is held gives way to successors, all of it in one request.

0. Its rows are written: WRITING. What has room beside the old holds is filled
   and verified on its own, before anything is prepared.
1. *prepare*, one transaction: whatever may fail is checked; the old holds are
   EXCHANGING, each is paired with a successor, WRITING, which knows the new
   place and the one that it gets if all comes to nothing.
2. *apply*, one request: the old holds' consumers are emptied, the successors'
   are filled at the new places. There is no way back from here.
3. *commit*, one transaction: the old holds are RELEASED, the successors HELD,
   and what the swap was for counts.
4. What was filled is verified: a successor that is more than there is ends.

Who does not know whether 2 has landed, as it was refused, or not answered, or
a planner died, *finishes*:

=====================  =======================================================
a successor is there   it was applied, or compensated: commit what it says
no successor is there  *compensate*: the same request with the old places. The
                       successors' uuids are taken then, so that the first
                       request can never land. Commit that. Where somebody
                       has removed an old hold, and its place is another's by
                       now, apply again is tried, too; else its member fails.
some of both           it has landed in between: read again
=====================  =======================================================

The old holds are read first: once they are gone it is decided.

=============  =====================================  ========================
who dies at    leaves behind                          and who goes on
=============  =====================================  ========================
before 1       WRITING, nothing EXCHANGING            who takes the lease: the
                                                      rows are RELEASING
after 1        EXCHANGING and WRITING; the old own    who takes the lease:
               it, or the successors                  finishes
after 2        the same                               the same
=============  =====================================  ========================

Each transaction renews the lease: who has lost it writes nothing any more.
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
from nova_groupext.scheduler import ledger as placement
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.protocol import take_back

LOG = logging.getLogger(__name__)

Side = swaps.Side

# How often one looks what a swap has come to, before that is left for later.
ATTEMPTS = 8


def make(context, ledger, lease, swap, commit, *, reads=False):
    """Apply a prepared swap and commit it.

    :param ledger: ledger.Ledger
    :param lease: VRTLease of the group
    :param swap: swaps.Swap as it was prepared
    :param commit: called without arguments when it is applied
    :param reads: whether somebody else may have changed the old holds
    :returns: whether it was made; if not, all is as it was before
    :raises: PlacementUnavailable when it is not known: the lease is to be
        left; GroupBusy when another has taken the group over
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
            # Another one has taken over, and finished it: who plans on would
            # speak of a group that is not this one's any more.
            raise exception.GroupBusy(group=lease.group_id) from exc
        if side != Side.MADE:
            return False
    else:
        commit()
    _verify(context, ledger, swap)
    return True


def _verify(context, ledger, swap):
    """End successors that are more than there is.

    There is no way back: their members fail, and are placed anew once.
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
    """End what somebody has begun with a group, whatever that was.

    :returns: Side, None if nothing had been prepared
    :raises: as make() does
    """
    swap = swaps.Swap.of(context, lease.group_id)
    if swap is None:
        return None
    if swap.is_prepared:
        side, lost = _find_out(context, ledger, lease, swap)
    else:
        # Nothing was to give way yet: nobody loses anything.
        side, lost = Side.IN_VAIN, ()
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
    """Let a draft count, while nobody else adopts or counts in its project.

    :param others: see revisions.commit()
    """
    commit = functools.partial(
        revisions.commit,
        *(context, lease, group, draft, swap, *args),
        **kwargs,
    )
    with faultpoints.around('revise.commit'):
        quota.serialised(context, draft.project_id, commit)


def _find_out(context, ledger, lease, swap):
    """Return the Side of a swap, and the uuids of successors that are lost.

    If it was not applied it never will be.
    """
    if take_back.is_one(swap):
        return take_back.finish(context, ledger, swap)
    remedies = iter(REMEDIES)
    for attempt in range(ATTEMPTS):
        if attempt:
            placement.pause(attempt)
        # In this order: what is applied in between shows as some of both.
        there = _having(context, ledger, swap.olds)
        shown = _having(context, ledger, swap.successors)
        if shown and there:
            continue
        if shown:
            side = _side(swap, shown)
            return side, _unshown(swap, side, shown)
        remedy = next(remedies, None)
        if remedy is None:
            # Somebody else has changed what the old ones own: their places
            # are not theirs any more.
            return Side.IN_VAIN, _unshown(swap, Side.IN_VAIN, ())
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
    """All get their old places."""
    return Side.IN_VAIN, _turned_back(swap, _uuids(swap.olds))


def _apply(swap, _there):
    """Of an old one that somebody has removed the place is another's."""
    return Side.MADE, [each for each in swap.successors if each.allocations]


def _compensate_those(swap, there):
    """Who has nothing left loses its place; nobody else does."""
    return Side.IN_VAIN, _turned_back(swap, there)


# What is sent one after the other, as long as Placement refuses.
REMEDIES = (_compensate, _apply, _compensate_those)


def _turned_back(swap, uuids):
    """Return what successors are that get the places of some old holds."""
    return [
        each.turned_back()
        for each in swap.successors
        if each.otherwise and each.otherwise['uuid'] in uuids
    ]


def _send(context, ledger, lease, olds, rows):
    """Empty old holds and fill successors; tell whether that was done.

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
    """Return what successors say that own something.

    :param shown: {uuid: allocations}
    """

    def how_wrong(side):
        seats = _seats(swap, side)
        contradictions = [u for u, has in shown.items() if seats.get(u) != has]
        return len(contradictions), len(_unshown(swap, side, shown))

    return min(Side, key=how_wrong)


def _seats(swap, side):
    """Return {uuid: allocations} of what successors own on a side."""
    rows = swap.successors if side == Side.MADE else swap.turned_back()
    return {each.uuid: each.allocations for each in rows if each.allocations}


def _unshown(swap, side, shown):
    """Return the uuids of those that should own something, and do not."""
    return _seats(swap, side).keys() - set(shown)


def _tell(context, swap, side, lost):
    """Tell of the members that have lost their places by a swap."""
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
        # A member is held, or its server has got what it had.
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
        notifications.decided(context, VRTGroup.get(context, group.uuid))
    else:
        revisions.turn_back(context, lease, draft, swap, lost)

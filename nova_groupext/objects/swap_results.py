# SPDX-License-Identifier: Apache-2.0
"""Results of swaps: what a commit or compensation writes.

It never fails: a hold whose member or group has ended meanwhile is set to
RELEASING.
"""

from collections.abc import Collection
from collections.abc import Sequence
import functools

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.swaps import Side
from nova_groupext.objects.swaps import Swap

IS_LOST = 'its hold was lost and could not be restored; replan the group'


def commit(
    context: RequestContext,
    lease: VRTLease,
    swap: Swap,
    side: Side,
    lost: Collection[str] = (),
    *,
    is_watched: bool = False,
) -> None:
    """Store the result of a swap that changes no definition.

    The parameters are those of store().

    :raises: GroupBusy when another planner has taken the group over
    """
    work = functools.partial(
        *(store, context, lease.group_id, swap, side, lost),
        is_watched=is_watched,
    )
    with faultpoints.around('swap.commit'):
        swaps.with_lease(context, lease, work)


def store(
    context: RequestContext,
    group_id: int,
    swap: Swap,
    side: Side,
    lost: Collection[str] = (),
    *,
    member_statuses: Collection[states.Member] = tuple(states.Member),
    is_watched: bool = False,
) -> None:
    """Update rows and members to the result of a swap.

    The caller's transaction has the group's row lock.

    :param swap: as it was prepared
    :param lost: uuids of successors that own nothing
    :param member_statuses: of members that may become HELD
    :param is_watched: True if a request of the swap may still arrive
    """
    resulting = swap.holds_after(side)
    confirmed = [hold for hold in resulting if hold.uuid not in lost]
    pending = [*swap.successors, *swap.separate]
    releasing = {'status': states.Hold.RELEASING}
    _end_old_holds(context, swap, is_watched)
    if side == Side.APPLIED:
        VRTHold.change(context, swap.ending, states.Hold.HELD, **releasing)
    else:
        _restore_capacity(context, swap, resulting)
    VRTHold.change(context, swap.ending, *states.Hold, ends_with_swap=False)
    if is_watched:
        rows = swap.successors if side == Side.APPLIED else resulting
        _watch(context, pending, [hold for hold in rows if hold.allocations])
    _set_held(context, group_id, confirmed, member_statuses)
    VRTHold.change(context, pending, states.Hold.WRITING, **releasing)
    _fail_members(context, [hold for hold in resulting if hold.uuid in lost])
    transitions.derive_status(context, group_id)


def _end_old_holds(
    context: RequestContext, swap: Swap, is_watched: bool
) -> None:
    # If a request may still arrive, the reaper has to empty the consumers.
    ended = states.Hold.RELEASING if is_watched else states.Hold.RELEASED
    old_holds = swap.old_holds
    VRTHold.change(context, old_holds, states.Hold.EXCHANGING, status=ended)
    # Requests outside the swap may still fill a server's consumer.
    servers = [old for old in old_holds if old.server_uuid]
    VRTHold.change(context, servers, ended, **watched_holds.watch_values())


def _restore_capacity(
    context: RequestContext, swap: Swap, resulting: Sequence[VRTHold]
) -> None:
    """Give successors the capacity of old holds, and end adoptions."""
    released = {'status': states.Hold.RELEASED, 'if_compensated': None}
    VRTHold.change(context, swap.adopted, states.Hold.REDEEMED, **released)
    for hold in resulting:
        columns = hold.capacity_columns()
        VRTHold.change(context, [hold], states.Hold.WRITING, **columns)


def _watch(
    context: RequestContext,
    pending: Sequence[VRTHold],
    filled: Sequence[VRTHold],
) -> None:
    """Watch new holds.

    :param filled: those that two requests may fill, so that Placement may lose
        the consumer's record
    """
    values = watched_holds.watch_values()
    VRTHold.change(context, pending, states.Hold.WRITING, **values)
    VRTHold.change(context, filled, states.Hold.WRITING, lost=True)


def _set_held(
    context: RequestContext,
    group_id: int,
    rows: Sequence[VRTHold],
    member_statuses: Collection[states.Member],
) -> None:
    """Set holds, and their members in permitted states, to HELD.

    Nothing changes in a group that may have no holds any more.
    """
    may_have_holds = sql_conditions.may_have_holds(group_id)
    if not db.count(context, models.Group, *may_have_holds):
        return
    is_member = sa.exists().where(
        models.Member.id == models.Hold.member_id,
        models.Member.status.in_(member_statuses),
    )
    VRTHold.update_rows(
        context,
        models.Hold.uuid.in_([row.uuid for row in rows]),
        models.Hold.status == states.Hold.WRITING,
        models.Hold.member_id.is_(None) | is_member,
        status=states.Hold.HELD,
        if_compensated=None,
    )
    ids = [row.member_id for row in rows if row.member_id is not None]
    _set_members_held(context, ids, member_statuses)
    db.compare_and_set_all(context, transitions.release_of_redeemed(ids))


def _set_members_held(
    context: RequestContext,
    ids: Sequence[int],
    member_statuses: Collection[states.Member],
) -> None:
    """Set members in permitted states to HELD.

    A HELD member keeps its server uuid: a boot stores it as soon as Nova has
    accepted the server.
    """
    may_become_held = (
        models.Member.id.in_(ids),
        models.Member.status.in_(member_statuses),
    )
    is_new = models.Member.status != states.Member.HELD
    VRTMember.update_rows(
        *(context, *may_become_held, is_new),
        server_uuid=None,
        reserved_for=None,
        held_since=sa.func.coalesce(models.Member.held_since, clock.now()),
    )
    held = {'status': states.Member.HELD, 'fault': None}
    VRTMember.update_rows(context, *may_become_held, **held)


def _fail_members(context: RequestContext, rows: Sequence[VRTHold]) -> None:
    """Set members to FAILED whose holds Placement has lost."""
    ids = [row.member_id for row in rows if row.member_id is not None]
    if ids:
        VRTMember.update_rows(
            context,
            models.Member.id.in_(ids),
            models.Member.status == states.Member.HELD,
            status=states.Member.FAILED,
            fault=IS_LOST,
            held_since=None,
        )

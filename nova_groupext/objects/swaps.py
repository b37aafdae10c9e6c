# SPDX-License-Identifier: Apache-2.0
"""The rows of a swap: holds that end, and their successors.

The owner of the group's lease prepares and commits a swap in one transaction
each. The Placement request in between is in scheduler/protocol/swap.py.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import enum
import itertools
from typing import Any
from typing import Self
from typing import TypeVar

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease

_Result = TypeVar('_Result')

IS_LOST = 'its hold was lost and could not be restored; replan the group'


class Side(enum.Enum):
    """The side on which a swap has ended."""

    # The successors own the new capacity.
    APPLIED = enum.auto()
    # The successors own the old capacity.
    COMPENSATED = enum.auto()


@dataclasses.dataclass(frozen=True)
class Swap:
    """Unfinished holds of a group and its draft.

    :ivar old_holds: holds that one request empties
    :ivar successors: holds that it or its compensation fills
    :ivar separate: holds that were filled by requests of their own
    :ivar ending: holds that end as soon as the swap is made
    :ivar adopted: holds of servers to adopt; they end if the swap is
        compensated
    """

    old_holds: Sequence[VRTHold]
    successors: Sequence[VRTHold]
    separate: Sequence[VRTHold] = ()
    ending: Sequence[VRTHold] = ()
    adopted: Sequence[VRTHold] = ()

    @classmethod
    def load(cls, context: RequestContext, group_id: int) -> Self | None:
        """Return the stored swap of a group; None without open holds."""
        rows = VRTHold.list_open(context, group_id)
        if not rows:
            return None
        pending = [r for r in rows if r.status == states.Hold.WRITING]
        return cls(
            old_holds=[r for r in rows if r.status == states.Hold.EXCHANGING],
            successors=[r for r in pending if r.if_compensated is not None],
            separate=[r for r in pending if r.if_compensated is None],
            ending=[r for r in rows if r.ends_with_swap],
            adopted=[r for r in rows if r.status == states.Hold.REDEEMED],
        )

    @property
    def is_prepared(self) -> bool:
        return bool(self.old_holds)

    def new_holds(self) -> list[VRTHold]:
        """Return the holds that become HELD when the swap is made."""
        return [r for r in (*self.successors, *self.separate) if r.allocations]

    def as_compensated(self) -> list[VRTHold]:
        """Return the holds that its successors are after a compensation."""
        holds = [each.as_compensated() for each in self.successors]
        return [hold for hold in holds if hold is not None]


EMPTY = Swap(old_holds=[], successors=[])


def pair_successors(
    old_holds: Sequence[VRTHold], rows: Sequence[VRTHold]
) -> list[VRTHold]:
    """Make holds the successors of others; add successors where needed.

    Each old hold has one successor, of any member. So the swap or its
    compensation, whichever arrives first, fills a consumer, and the other one
    is refused.

    :param old_holds: holds that are to be exchanged
    :param rows: holds, not stored yet
    :returns: successors, at least as many as ``old_holds``
    """
    successors = []
    for old, row in itertools.zip_longest(old_holds, rows):
        if row is None:
            successors.append(old.fallback())
        else:
            row.set_predecessor(old)
            successors.append(row)
    return successors


def prepare(
    context: RequestContext,
    lease: VRTLease,
    old_holds: Sequence[VRTHold],
    ending: Sequence[VRTHold] = (),
) -> None:
    """Set holds to EXCHANGING, and mark others to end with the swap.

    The caller's transaction has the group's row lock.

    :param old_holds: holds that a swap is to empty
    :param ending: holds that end when it is made
    :raises: GenerationConflict when one of them has changed state
    """
    for holds, values in (
        (old_holds, {'status': states.Hold.EXCHANGING}),
        (ending, {'ends_with_swap': True}),
    ):
        if holds and db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status.in_({hold.status for hold in holds}),
            ~models.Hold.ends_with_swap,
            **values,
        ) != len(holds):
            raise exception.GenerationConflict(group=lease.group_id)


def with_lease(
    context: RequestContext, lease: VRTLease, work: Callable[[], _Result]
) -> _Result:
    """Run work in a transaction that renews the lease.

    :param work: called perhaps more than once
    :raises: GroupBusy when another planner has taken the group over,
        GroupNotFound when the group was deleted
    """

    def renew_and_work() -> tuple[bool, _Result]:
        lease.renew(context)
        return True, work()

    locked = db.with_row_lock(
        context, models.Group, renew_and_work, id=lease.group_id
    )
    if locked is None:
        raise exception.GroupNotFound(group=lease.group_id)
    _is_done, result = locked
    return result


def commit(
    context: RequestContext,
    lease: VRTLease,
    swap: Swap,
    side: Side,
    lost: Collection[str] = (),
    *,
    member_statuses: Collection[states.Member],
    is_watched: bool = False,
) -> None:
    """Store the result of a swap that changes no definition.

    The parameters are those of store_result().

    :raises: GroupBusy when another planner has taken the group over
    """

    def work() -> None:
        store_result(
            *(context, lease.group_id, swap, side, lost),
            member_statuses=member_statuses,
            is_watched=is_watched,
        )

    with faultpoints.around('swap.commit'):
        with_lease(context, lease, work)


def store_result(
    context: RequestContext,
    group_id: int,
    swap: Swap,
    side: Side,
    lost: Collection[str] = (),
    *,
    member_statuses: Collection[states.Member],
    is_watched: bool = False,
) -> None:
    """Update rows and members to the result of a swap.

    The caller's transaction has the group's row lock. It never fails: a hold
    whose member or group has ended meanwhile is set to RELEASING.

    :param swap: as it was prepared
    :param lost: uuids of successors that own nothing
    :param member_statuses: of members that may become HELD
    :param is_watched: True if a request of the swap may still arrive
    """
    resulting = (
        swap.new_holds() if side == Side.APPLIED else swap.as_compensated()
    )
    confirmed = [hold for hold in resulting if hold.uuid not in lost]
    pending = [*swap.successors, *swap.separate]
    _end_old_holds(context, swap, is_watched)
    if side == Side.APPLIED:
        _release_ending(context, swap)
    else:
        _restore_capacity(context, swap, resulting)
    _change(context, swap.ending, *states.Hold, ends_with_swap=False)
    if is_watched:
        rows = swap.successors if side == Side.APPLIED else resulting
        _watch(context, pending, [hold for hold in rows if hold.allocations])
    _set_held(context, group_id, confirmed, member_statuses)
    releasing = {'status': states.Hold.RELEASING}
    _change(context, pending, states.Hold.WRITING, **releasing)
    _fail_members(context, [hold for hold in resulting if hold.uuid in lost])
    transitions.derive_status(context, group_id)


def _end_old_holds(
    context: RequestContext, swap: Swap, is_watched: bool
) -> None:
    # If a request may still arrive, the reaper has to empty the consumers.
    ended = states.Hold.RELEASING if is_watched else states.Hold.RELEASED
    _change(context, swap.old_holds, states.Hold.EXCHANGING, status=ended)
    # Requests outside the swap may still fill a server's consumer.
    servers = [old for old in swap.old_holds if old.server_uuid]
    _change(context, servers, ended, **watched_holds.watch_values())


def _release_ending(context: RequestContext, swap: Swap) -> None:
    releasing = {'status': states.Hold.RELEASING}
    _change(context, swap.ending, states.Hold.HELD, **releasing)


def _restore_capacity(
    context: RequestContext, swap: Swap, resulting: Sequence[VRTHold]
) -> None:
    """Give successors the capacity of old holds, and end adoptions."""
    released = {'status': states.Hold.RELEASED, 'if_compensated': None}
    _change(context, swap.adopted, states.Hold.REDEEMED, **released)
    for hold in resulting:
        columns = hold.capacity_columns()
        _change(context, [hold], states.Hold.WRITING, **columns)


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
    _change(context, pending, states.Hold.WRITING, **values)
    _change(context, filled, states.Hold.WRITING, lost=True)


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
    ids = [row.member_id for row in rows if row.member_id is not None]
    is_member = sa.exists().where(
        models.Member.id == models.Hold.member_id,
        models.Member.status.in_(member_statuses),
    )
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.uuid.in_([row.uuid for row in rows]),
        models.Hold.status == states.Hold.WRITING,
        models.Hold.member_id.is_(None) | is_member,
        status=states.Hold.HELD,
        if_compensated=None,
    )
    may_become_held = (
        models.Member.id.in_(ids),
        models.Member.status.in_(member_statuses),
    )
    # A HELD member keeps its server uuid: a boot stores it as soon as Nova has
    # accepted the server.
    is_new = models.Member.status != states.Member.HELD
    db.compare_and_set(
        *(context, models.Member, *may_become_held, is_new),
        server_uuid=None,
        held_since=sa.func.coalesce(models.Member.held_since, clock.now()),
    )
    held = {'status': states.Member.HELD, 'fault': None}
    db.compare_and_set(context, models.Member, *may_become_held, **held)
    model, is_redeemed, values, _expected = transitions.release_of_redeemed(
        ids
    )
    db.compare_and_set(context, model, *is_redeemed, **values)


def _fail_members(context: RequestContext, rows: Sequence[VRTHold]) -> None:
    """Set members to FAILED whose holds Placement has lost."""
    ids = [row.member_id for row in rows if row.member_id is not None]
    if ids:
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id.in_(ids),
            models.Member.status == states.Member.HELD,
            status=states.Member.FAILED,
            fault=IS_LOST,
        )


def _change(
    context: RequestContext,
    rows: Sequence[VRTHold],
    *statuses: states.Hold,
    **values: Any,
) -> None:
    """Update those holds that are in some states."""
    if rows:
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.uuid.in_([row.uuid for row in rows]),
            models.Hold.status.in_(statuses),
            **values,
        )

# SPDX-License-Identifier: Apache-2.0
"""The rows of a swap: holds that end, and their successors.

The owner of the group's lease prepares and commits a swap in one transaction
each. The Placement request in between is in scheduler/protocol/swap.py.
"""

import dataclasses
import enum
import itertools

import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import SEAT
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.hold import watching

IS_LOST = 'its hold was removed, and there is no room for it any more'


class Side(enum.Enum):
    """The side on which a swap has ended."""

    # The successors own the new capacity.
    MADE = enum.auto()
    # The successors own the old capacity.
    COMPENSATED = enum.auto()


@dataclasses.dataclass(frozen=True)
class Swap:
    """Unfinished holds of a group and its draft.

    :ivar olds: VRTHolds that one request empties
    :ivar successors: VRTHolds that it or its compensation fills
    :ivar beside: VRTHolds that were filled by requests of their own
    :ivar leaving: VRTHolds that end as soon as the swap is made
    :ivar adopted: VRTHolds of servers to adopt; they end if the swap is
        compensated
    """

    olds: list[VRTHold]
    successors: list[VRTHold]
    beside: list[VRTHold] = ()
    leaving: list[VRTHold] = ()
    adopted: list[VRTHold] = ()

    @classmethod
    def of(cls, context, group_id):
        """Return the stored swap of a group; None without open holds."""
        rows = VRTHold.list_open(context, group_id)
        if not rows:
            return None
        written = [r for r in rows if r.status == states.Hold.WRITING]
        return cls(
            olds=[r for r in rows if r.status == states.Hold.EXCHANGING],
            successors=[r for r in written if r.otherwise is not None],
            beside=[r for r in written if r.otherwise is None],
            leaving=[r for r in rows if r.leaves],
            adopted=[r for r in rows if r.status == states.Hold.REDEEMED],
        )

    @property
    def is_prepared(self):
        return bool(self.olds)

    def arriving(self):
        """Return the VRTHolds that become HELD when the swap is made."""
        return [r for r in (*self.successors, *self.beside) if r.allocations]

    def turned_back(self):
        """Return the VRTHolds that its successors are after a compensation."""
        found = (each.turned_back() for each in self.successors)
        return [each for each in found if each is not None]


NOTHING = Swap(olds=[], successors=[])


def pair(olds, rows):
    """Make holds the successors of others; add successors where needed.

    Each old hold has one successor, of any member. So the swap or its
    compensation, whichever arrives first, fills a consumer, and the other one
    is refused.

    :param olds: VRTHolds that are to be exchanged
    :param rows: VRTHolds, not stored yet
    :returns: list of successors, at least as many as ``olds``
    """
    successors = []
    for old, row in itertools.zip_longest(olds, rows):
        if row is None:
            successors.append(old.successor())
        else:
            row.succeed(old)
            successors.append(row)
    return successors


def prepare(context, lease, olds, leaving=()):
    """Set holds to EXCHANGING and mark those that leave.

    The caller's transaction has the group's row lock.

    :param lease: VRTLease of the group
    :param olds: VRTHolds that a swap is to empty
    :param leaving: VRTHolds that end when it is made
    :raises: GenerationConflict when one of them has changed state
    """
    for holds, values in (
        (olds, {'status': states.Hold.EXCHANGING}),
        (leaving, {'leaves': True}),
    ):
        if holds and db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status.in_({hold.status for hold in holds}),
            ~models.Hold.leaves,
            **values,
        ) != len(holds):
            raise exception.GenerationConflict(group=lease.group_id)


def write_down(context, lease, work):
    """Run work in a transaction that renews the lease.

    :param work: called without arguments, perhaps more than once
    :returns: the result of the work
    :raises: GroupBusy when another planner has taken the group over,
        GroupNotFound when the group was deleted
    """

    def renew_and_work():
        lease.renew(context)
        return True, work()

    done = db.with_row_lock(
        context, models.Group, renew_and_work, id=lease.group_id
    )
    if done is None:
        raise exception.GroupNotFound(group=lease.group_id)
    _is_done, written = done
    return written


def commit(context, lease, swap, side, lost=(), *, may_be, is_watched=False):
    """Store the result of a swap that changes no definition.

    The parameters are those of settle().

    :raises: GroupBusy when another planner has taken the group over
    """

    def work():
        settle(
            *(context, lease.group_id, swap, side, lost),
            may_be=may_be,
            is_watched=is_watched,
        )

    with faultpoints.around('swap.commit'):
        write_down(context, lease, work)


def settle(
    context, group_id, swap, side, lost=(), *, may_be, is_watched=False
):
    """Update rows and members to the result of a swap.

    The caller's transaction has the group's row lock. It never fails: a hold
    whose member or group has ended meanwhile is set to RELEASING.

    :param swap: Swap, as it was prepared
    :param side: Side
    :param lost: uuids of the successors that own nothing, though they should
    :param may_be: statuses of members that may become HELD
    :param is_watched: True if a request of the swap may still arrive
    """
    arriving = swap.arriving() if side == Side.MADE else swap.turned_back()
    there = [each for each in arriving if each.uuid not in lost]
    written = [*swap.successors, *swap.beside]
    # If a request may still arrive, the reaper has to empty the consumers.
    ended = states.Hold.RELEASING if is_watched else states.Hold.RELEASED
    _change(context, swap.olds, states.Hold.EXCHANGING, status=ended)
    # Requests outside the swap may still fill a server's consumer.
    servers = [old for old in swap.olds if old.server_uuid]
    _change(context, servers, ended, **watching())
    if side == Side.MADE:
        releasing = {'status': states.Hold.RELEASING}
        _change(context, swap.leaving, states.Hold.HELD, **releasing)
    _change(context, swap.leaving, *states.Hold, leaves=False)
    if side == Side.COMPENSATED:
        released = {'status': states.Hold.RELEASED, 'otherwise': None}
        _change(context, swap.adopted, states.Hold.REDEEMED, **released)
        for each in arriving:
            seat = {name: getattr(each, name) for name in SEAT}
            _change(context, [each], states.Hold.WRITING, **seat)
    if is_watched:
        _change(context, written, states.Hold.WRITING, **watching())
        # Two requests may fill these, so Placement may lose a consumer record.
        rows = swap.successors if side == Side.MADE else arriving
        filled = [each for each in rows if each.allocations]
        _change(context, filled, states.Hold.WRITING, lost=True)
    if db.count(context, models.Group, *conditions.still(group_id)):
        _hold(context, there, may_be)
    _change(
        *(context, written, states.Hold.WRITING),
        status=states.Hold.RELEASING,
    )
    _lose(context, [each for each in arriving if each.uuid in lost])
    db.compare_and_set(
        context,
        models.Group,
        *conditions.still(group_id),
        **transitions.followed(),
    )


def _hold(context, rows, may_be):
    """Set holds, and their members in permitted states, to HELD."""
    ids = [row.member_id for row in rows if row.member_id is not None]
    is_member = sa.exists().where(
        models.Member.id == models.Hold.member_id,
        models.Member.status.in_(may_be),
    )
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.uuid.in_([row.uuid for row in rows]),
        models.Hold.status == states.Hold.WRITING,
        models.Hold.member_id.is_(None) | is_member,
        status=states.Hold.HELD,
        otherwise=None,
    )
    own = (models.Member.id.in_(ids), models.Member.status.in_(may_be))
    # A HELD member keeps its server uuid: a boot stores it as soon as Nova has
    # accepted the server.
    is_new = models.Member.status != states.Member.HELD
    db.compare_and_set(
        *(context, models.Member, *own, is_new),
        server_uuid=None,
        held_since=sa.func.coalesce(models.Member.held_since, clock.now()),
    )
    held = {'status': states.Member.HELD, 'fault': None}
    db.compare_and_set(context, models.Member, *own, **held)
    model, is_left, values, _expected = transitions.without_server(ids)
    db.compare_and_set(context, model, *is_left, **values)


def _lose(context, rows):
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


def _change(context, rows, *statuses, **values):
    """Update those holds that are in some states."""
    if rows:
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.uuid.in_([row.uuid for row in rows]),
            models.Hold.status.in_(statuses),
            **values,
        )

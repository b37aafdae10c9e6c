# SPDX-License-Identifier: Apache-2.0
"""The rows of a swap: holds that end, and their successors.

A swap is prepared and committed in one transaction each, by who has the lease
of the group. What Placement is asked in between is told in
scheduler/protocol/swap.py.
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
    """What became of a swap."""

    # The successors own the new places.
    MADE = enum.auto()
    # They own the old places.
    IN_VAIN = enum.auto()


@dataclasses.dataclass(frozen=True)
class Swap:
    """What a group and its draft have begun and not ended.

    :ivar olds: VRTHolds that one request empties
    :ivar successors: VRTHolds that it fills, or its compensation
    :ivar beside: VRTHolds that were written on their own
    :ivar leaving: VRTHolds that end as soon as the swap is made
    :ivar adopted: VRTHolds that end if it comes to nothing: of servers that
        become members with it
    """

    olds: list[VRTHold]
    successors: list[VRTHold]
    beside: list[VRTHold] = ()
    leaving: list[VRTHold] = ()
    adopted: list[VRTHold] = ()

    @classmethod
    def of(cls, context, group_id):
        """Read the swap of a group; None if nothing is begun."""
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
        """Return the VRTHolds that count when it is made."""
        return [r for r in (*self.successors, *self.beside) if r.allocations]

    def turned_back(self):
        """Return what its successors are if it comes to nothing."""
        found = (each.turned_back() for each in self.successors)
        return [each for each in found if each is not None]


NOTHING = Swap(olds=[], successors=[])


def pair(olds, rows):
    """Make rows the successors of holds; return them, and those they need.

    Every hold has one successor, of whatever member. So whichever of the two
    requests lands, it fills something: the other one never can.

    :param olds: VRTHolds that are to be exchanged
    :param rows: VRTHolds, not created yet
    """
    successors = []
    for old, row in itertools.zip_longest(olds, rows):
        if row is None:
            successors.append(old.heir())
        else:
            row.succeed(old)
            successors.append(row)
    return successors


def prepare(context, lease, olds, leaving=()):
    """Let holds be exchanged; a part of a transaction of the group's.

    :param lease: VRTLease of the group
    :param olds: VRTHolds that a swap is to empty
    :param leaving: VRTHolds that end when it is made
    :raises: GenerationConflict when one of them is not held any more
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
    """Write rows while nobody else has the lease.

    :param work: called without arguments, perhaps more than once
    :returns: what it returns
    :raises: GroupBusy when another has taken the group over, GroupNotFound
        when that one has forgotten it
    """

    def renew_and_work():
        lease.renew(context)
        return True, work()

    done = db.locked(context, models.Group, renew_and_work, id=lease.group_id)
    if done is None:
        raise exception.GroupNotFound(group=lease.group_id)
    _is_done, written = done
    return written


def commit(context, lease, swap, side, lost=(), *, may_be, is_watched=False):
    """Say what became of a swap that changes no definition.

    :raises: GroupBusy when another has taken the group over
    :param others: see settle()
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
    """Let rows and members say what became of a swap.

    A part of a transaction that is alone with the group. It never fails: what
    cannot be held any more, as its member or the group has ended meanwhile,
    is given back.

    :param swap: Swap, as it was prepared
    :param side: Side
    :param lost: uuids of the successors that own nothing, though they should
    :param may_be: statuses of members that become HELD
    :param is_watched: whether a request of the swap may still come
    """
    arriving = swap.arriving() if side == Side.MADE else swap.turned_back()
    there = [each for each in arriving if each.uuid not in lost]
    written = [*swap.successors, *swap.beside]
    # Who does not know what has landed looks whether there is something left.
    ended = states.Hold.RELEASING if is_watched else states.Hold.RELEASED
    _change(context, swap.olds, states.Hold.EXCHANGING, status=ended)
    # A server is filled by requests of its own.
    servers = [old for old in swap.olds if old.server_uuid]
    _change(context, servers, ended, **watching())
    if side == Side.MADE:
        releasing = {'status': states.Hold.RELEASING}
        _change(context, swap.leaving, states.Hold.HELD, **releasing)
    _change(context, swap.leaving, *states.Hold, leaves=False)
    if side == Side.IN_VAIN:
        released = {'status': states.Hold.RELEASED, 'otherwise': None}
        _change(context, swap.adopted, states.Hold.REDEEMED, **released)
        for each in arriving:
            seat = {name: getattr(each, name) for name in SEAT}
            _change(context, [each], states.Hold.WRITING, **seat)
    if is_watched:
        _change(context, written, states.Hold.WRITING, **watching())
        # Two requests may have filled them: Placement may have lost a record,
        # or lose one yet.
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
    """Let rows that own what they say be held, and their members with them."""
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
    # To one that is held already its server may be on the way.
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
    """Let members fail whose holds are gone from Placement."""
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
    """Change those rows that are in some states."""
    if rows:
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.uuid.in_([row.uuid for row in rows]),
            models.Hold.status.in_(statuses),
            **values,
        )

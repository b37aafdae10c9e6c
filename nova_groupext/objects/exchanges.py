# SPDX-License-Identifier: Apache-2.0
"""What a group holds gives way to what it is to hold instead.

Like every transition it is one transaction: either all of it changes, or
nothing does.
"""

import dataclasses
import datetime

import sqlalchemy as sa

from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold


@dataclasses.dataclass(frozen=True)
class Exchange:
    """What changes of what a group holds.

    :ivar written: VRTHold rows in state WRITING, of members that are no
        servers, or for the resizes of servers; fillers are among them
    :ivar leaving: promised VRTHolds that these replace, or nobody needs
    :ivar left_out: ids of held members that are not held any more
    :ivar expires_at: naive UTC datetime until which everything is held, or
        for longer if it was before; None for neither more nor less than that
    :ivar is_replan: whether nobody but planners has asked for that; nobody
        is held then who was released
    """

    written: list[VRTHold]
    leaving: list[VRTHold]
    left_out: list[int]
    expires_at: datetime.datetime | None
    is_replan: bool = False


def exchange_holds(context, group, exchange):
    """Let a group that holds something hold something else.

    :param exchange: Exchange
    :returns: whether that was done; nothing is when any of it has changed
    """
    written, leaving = exchange.written, exchange.leaving
    ids = [hold.member_id for hold in written if hold.member_id is not None]
    is_new = models.Member.status.not_in((*states.IN_USE, states.Member.HELD))
    may_be = models.Member.status.not_in(states.IN_USE)
    if exchange.is_replan:
        may_be = models.Member.status.in_(states.REPLANNED)
    counts = transitions.change(
        context,
        group.id,
        (
            models.Group,
            (models.Group.id == group.id,),
            {'expires_at': _held_until(exchange.expires_at)},
            1,
        ),
        (
            models.Hold,
            (
                models.Hold.id.in_([hold.id for hold in leaving]),
                models.Hold.status == states.Hold.HELD,
            ),
            {'status': states.Hold.LEAVING},
            len(leaving),
        ),
        # To one that is held already its server may be on the way.
        (
            models.Member,
            (models.Member.id.in_(ids), is_new),
            {'server_uuid': None},
            None,
        ),
        (
            models.Member,
            (models.Member.id.in_(ids), may_be),
            {'status': states.Member.HELD, 'fault': None},
            len(ids),
        ),
        transitions.without_server(ids),
        (
            models.Member,
            (
                models.Member.id.in_(exchange.left_out),
                models.Member.status == states.Member.HELD,
            ),
            {'status': states.Member.TENTATIVE},
            len(exchange.left_out),
        ),
        VRTHold.promised(written),
        when=conditions.still(
            group.id, states.CAN_REPLAN if exchange.is_replan else states.HOLDS
        ),
    )
    return counts is not None


def _held_until(expires_at):
    """Return the time as an expression: nothing of an extension is lost."""
    current = models.Group.expires_at
    if expires_at is None:
        return current
    return sa.case((current > expires_at, current), else_=expires_at)

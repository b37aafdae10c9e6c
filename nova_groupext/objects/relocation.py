# SPDX-License-Identifier: Apache-2.0
"""Changes of a group because a server moves or has moved.

Like those of objects/transitions.py, each is one transaction that locks the
group's row, except for end_growth() and note_drift().
"""

import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan


def begin_move(context, move, is_allowed=lambda: True):
    """Store a server's move, if its group's policies allow it now.

    No other transaction changes the group meanwhile. The generation increases,
    so that a plan made with the server at its old host cannot be held.

    :param move: VRTMove, not stored yet
    :param is_allowed: called without arguments
    :returns: True if the move was stored
    """

    def work():
        if not is_allowed():
            return False
        move.create(context)
        db.compare_and_set(
            context,
            models.Group,
            models.Group.id == move.group_id,
            generation=models.Group.generation + 1,
        )
        return True

    return bool(
        db.with_row_lock(context, models.Group, work, id=move.group_id)
    )


def follow(context, member, hold, seat, moves=(), *, has_grown=False):
    """Store that a member's server is at a new location.

    :param hold: VRTHold in state REDEEMED; None for a member that was SHELVED
    :param seat: the member's new entry of VRTPlan.placement
    :param moves: VRTMoves that the member had before Nova was asked. If it has
        others now, Nova's answer is outdated: another move has begun, or
        another process has followed one.
    :param has_grown: True if the server has the described flavor now
    :returns: False when the member or its hold has changed meanwhile, or a
        draft's swap is prepared: then nothing is changed
    """

    def work():
        if VRTGroup.prepared_draft(context, member.group_id):
            # The draft's plan contains the old locations.
            return False
        if not VRTMove.are_of(context, member.id, moves) or not _is_there(
            context, member, hold, seat
        ):
            return False
        plan = VRTPlan.newest(context, member.group_id)
        if plan is not None:
            plan.follow(context, member.path, seat)
        if has_grown:
            _note_growth(context, member)
        db.compare_and_set(
            context,
            models.Group,
            *conditions.still(member.group_id),
            **transitions.followed(),
        )
        return True

    done = db.with_row_lock(context, models.Group, work, id=member.group_id)
    if done:
        member.status = states.Member.ACTIVE
        if hold is not None:
            for name, value in hold.of_seat(seat).items():
                setattr(hold, name, value)
    return bool(done)


def _is_there(context, member, hold, seat):
    """Update the location of the hold, or insert one for a SHELVED member.

    :returns: False when the hold or the member has changed
    """
    if hold is not None:
        return hold.follow(context, seat)
    model, own, values, _expected = member.changed(states.Member.ACTIVE)
    if not db.compare_and_set(context, model, *own, **values):
        return False
    VRTHold.redeemed(member, seat).create(context)
    return True


def _note_growth(context, member):
    """Release a reservation whose server has the described flavor."""
    db.compare_and_set(
        context,
        models.Member,
        models.Member.id == member.id,
        server_flavor=None,
    )
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.resize_member_id == member.id,
        conditions.is_resize_reservation(),
        status=states.Hold.RELEASING,
    )


def end_growth(context, member, moves):
    """Release a redeemed reservation whose server has settled.

    The member's own redeemed hold contains the location.

    :param moves: see follow(); a move that has begun since then may need this
        reservation
    """
    is_new = models.Move.id.not_in([move.id for move in moves])
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.resize_member_id == member.id,
        ~sa.exists().where(models.Move.member_id == member.id, is_new),
        models.Hold.server_uuid == member.server_uuid,
        models.Hold.status == states.Hold.REDEEMED,
        status=states.Hold.RELEASED,
    )


def note_drift(context, group, drift):
    """Store policy violations, unless the group has changed since.

    The group's generation stays.

    :param drift: [{at, policy}]
    :returns: True if it was stored
    """
    done = db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.generation == group.generation,
        drift=drift,
    )
    if done:
        group.drift = drift
    return bool(done)

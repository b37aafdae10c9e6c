# SPDX-License-Identifier: Apache-2.0
"""Changes of a group because a server goes, or is, somewhere else.

They are as in transitions: one transaction each, alone with the group's row.
"""

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
    """Write down where a server goes, if its group allows that now.

    Nobody else changes the group meanwhile. The generation counts up, so that
    nothing is held that was planned with the server where it was.

    :param move: VRTMove, not created yet
    :param is_allowed: called without arguments
    :returns: whether it was written down
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

    return bool(db.locked(context, models.Group, work, id=move.group_id))


def follow(context, member, hold, seat, moves=(), *, has_grown=False):
    """Let everything say that a member's server is in a seat now.

    :param hold: VRTHold in state REDEEMED; None for a member that was SHELVED
    :param seat: what VRTPlan.placement is to say of it
    :param moves: VRTMoves of the member that were there before Nova was asked:
        what Nova has said before a move began, or of one that another has
        followed meanwhile, is not written
    :param has_grown: whether it has the flavor that is described, by now
    :returns: False when the member or its hold was changed meanwhile: then
        nothing is changed
    """

    def work():
        if VRTGroup.prepared_draft(context, member.group_id):
            # The draft brings a plan of where everybody was.
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

    done = db.locked(context, models.Group, work, id=member.group_id)
    if done:
        member.status = states.Member.ACTIVE
        if hold is not None:
            for name, value in hold.of_seat(seat).items():
                setattr(hold, name, value)
    return bool(done)


def _is_there(context, member, hold, seat):
    """Let a hold say where its server is; one that was SHELVED has none."""
    if hold is not None:
        return hold.follow(context, seat)
    model, own, values, _expected = member.changed(states.Member.ACTIVE)
    if not db.compare_and_set(context, model, *own, **values):
        return False
    VRTHold.redeemed(member, seat).create(context)
    return True


def _note_growth(context, member):
    """A server is what is described: nothing more is held for it."""
    db.compare_and_set(
        context,
        models.Member,
        models.Member.id == member.id,
        server_flavor=None,
    )
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.grows_id == member.id,
        conditions.is_growth(),
        status=states.Hold.RELEASING,
    )


def end_growth(context, member):
    """Forget what a server was resized to that rests now.

    Where it is says the hold that it has redeemed.
    """
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.grows_id == member.id,
        models.Hold.server_uuid == member.server_uuid,
        models.Hold.status == states.Hold.REDEEMED,
        status=states.Hold.RELEASED,
    )


def note_drift(context, group, drift):
    """Store what is broken, unless the group was changed since it was read.

    It is no change of the group: its generation stays.

    :param drift: [{at, policy}]
    :returns: whether it was stored
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

# SPDX-License-Identifier: Apache-2.0
"""Changes of a group because a server moves or has moved.

Like those of objects/transitions.py, each is one transaction that locks the
group's row, except for store_drift() and release_redeemed_reservation().
"""

from collections.abc import Callable
from collections.abc import Sequence

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.aliases import Violation
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_placement import MemberPlacement
from nova_groupext.objects.member_set import are_alike
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan


def start_move(
    context: RequestContext,
    move: VRTMove,
    is_allowed: Callable[[], bool] = lambda: True,
) -> bool:
    """Store a server's move, if its group's policies allow it now.

    No other transaction changes the group meanwhile. The generation increases,
    so that a plan made with the server at its old host cannot be held.

    :param move: not stored yet
    :returns: True if the move was stored
    """

    def work() -> bool:
        if not is_allowed():
            return False
        move.create(context)
        is_group = models.Group.id == move.group_id
        increased = {'generation': models.Group.generation + 1}
        VRTGroup.update_rows(context, is_group, **increased)
        return True

    return bool(
        db.with_row_lock(context, models.Group, work, id=move.group_id)
    )


def store_location(
    context: RequestContext,
    member: VRTMember,
    hold: VRTHold | None,
    placement: MemberPlacement,
    moves: Sequence[VRTMove] = (),
    *,
    is_resized: bool = False,
) -> bool:
    """Store that a member's server is at a new location.

    :param hold: in state REDEEMED; None for a member that was SHELVED
    :param placement: the member's new one
    :param moves: those that the member had before Nova was asked. If it has
        others now, Nova's answer is outdated: another move has begun, or
        another process has followed one.
    :param is_resized: True if the server has the described flavor now
    :returns: False when the member or its hold has changed meanwhile, or a
        draft is binding: then nothing is changed
    """

    def work() -> bool:
        if VRTGroup.find_binding_draft(context, member.group_id):
            # The draft's plan contains the old locations.
            return False
        if not VRTMove.are_current(
            context, member.id, moves
        ) or not _update_location(context, member, hold, placement):
            return False
        if is_resized:
            _release_reservation(context, member)
        transitions.derive_status(context, member.group_id)
        return True

    if not db.with_row_lock(context, models.Group, work, id=member.group_id):
        return False
    member.status = states.Member.ACTIVE
    if hold is not None:
        hold.set_placement(placement)
    return True


def _update_location(
    context: RequestContext,
    member: VRTMember,
    hold: VRTHold | None,
    placement: MemberPlacement,
) -> bool:
    """Update the location in the hold and in the plan.

    :returns: False when the hold or the member has changed
    """
    if not _update_hold(context, member, hold, placement):
        return False
    plan = VRTPlan.find_newest(context, member.group_id)
    if plan is not None:
        plan.update_placement(context, member.path, placement)
    return True


def _update_hold(
    context: RequestContext,
    member: VRTMember,
    hold: VRTHold | None,
    placement: MemberPlacement,
) -> bool:
    """Update the location of the hold, or insert one for a SHELVED member.

    :returns: False when the hold or the member has changed
    """
    if hold is not None:
        return hold.update_placement(context, placement)
    if not db.compare_and_set_all(
        context, member.status_change(states.Member.ACTIVE)
    ):
        return False
    VRTHold.for_server(member, placement).create(context)
    return True


def _release_reservation(context: RequestContext, member: VRTMember) -> None:
    """Release a reservation whose server has the described flavor."""
    flavor = {
        name: member.resolved_request[name] for name in ('flavor', 'flavor_id')
    }
    resized = {**member.server_request, **flavor}
    is_pending = not are_alike(resized, member.resolved_request)
    member.update_row(context, server_request=resized if is_pending else None)
    VRTHold.update_rows(
        context,
        models.Hold.resize_member_id == member.id,
        sql_conditions.is_resize_reservation(),
        status=states.Hold.RELEASING,
    )


def release_redeemed_reservation(
    context: RequestContext, member: VRTMember, moves: Sequence[VRTMove]
) -> None:
    """Release a redeemed reservation whose server no longer moves.

    The member's own redeemed hold contains the location.

    :param moves: see store_location(); a move that has begun since then
        may need this reservation
    """
    is_new = models.Move.id.not_in([move.id for move in moves])
    VRTHold.update_rows(
        context,
        models.Hold.resize_member_id == member.id,
        ~sa.exists().where(models.Move.member_id == member.id, is_new),
        models.Hold.server_uuid == member.server_uuid,
        models.Hold.status == states.Hold.REDEEMED,
        status=states.Hold.RELEASED,
    )


def store_drift(
    context: RequestContext, group: VRTGroup, drift: list[Violation]
) -> bool:
    """Store policy violations, unless the group has changed since.

    The group's generation stays.

    :returns: True if it was stored
    """
    is_unchanged = models.Group.generation == group.generation
    is_stored = group.update_row(context, is_unchanged, drift=drift)
    if is_stored:
        group.drift = drift
    return bool(is_stored)

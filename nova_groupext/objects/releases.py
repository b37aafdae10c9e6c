# SPDX-License-Identifier: Apache-2.0
"""Releases: holds of a group end, on request or when their time is over.

Each is one transaction, see transitions.change_members(). It sets members to
RELEASED, or to TENTATIVE if their time is over, and holds to RELEASING;
scheduler/protocol/release_holds.py empties these in Placement.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from collections.abc import Set
from typing import Any

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import redeems
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member import expiry_text

HELD_TOO_LONG = (
    'it was held for the maximum time that the operator allows; replan the '
    'group to hold it again'
)


def release_all(
    context: RequestContext, group: VRTGroup, generation: int | None = None
) -> bool:
    """Release all members of a group that no server has, or nothing.

    :param generation: expected one of the group, None for any
    :returns: True if any hold was released
    :raises: GroupStateConflict while a swap exchanges holds of members: those
        would stay; GenerationConflict
    """
    no_swap = ~sql_conditions.has_member_in_swap()
    released = _release(context, group, None, generation, no_swap)
    if released is None:
        raise group.conflict(
            'a revision of it is being put in force; retry in a moment'
        )
    return released


def release_members(
    context: RequestContext,
    group: VRTGroup,
    members: Sequence[VRTMember] | None = None,
    generation: int | None = None,
) -> bool:
    """Release members: from now on a late create is refused.

    :param members: those of the group without servers, all of them or none;
        by default all those without a server that are not being redeemed
    :param generation: expected one of the group, None for any
    :returns: True if any hold was released
    :raises: MemberStateConflict when a named member is being redeemed or
        exchanged, GenerationConflict
    """
    released = _release(context, group, members, generation)
    if released is None:
        raise exception.member_state_conflict(
            [each.path for each in members],
            status='changing',
            reason='a server is being created, or a revision is being put in '
            'force; no member was released',
        )
    return released


def _release(
    context: RequestContext,
    group: VRTGroup,
    members: Sequence[VRTMember] | None,
    generation: int | None,
    *conditions: Condition,
) -> bool | None:
    """Release members; return whether any hold was, None on a conflict.

    :raises: GenerationConflict
    """
    affected = group.members if members is None else members
    ids = {
        each.id for each in affected if each.status in states.MEMBER_RELEASABLE
    }
    counts = transitions.change_members(
        context,
        group.id,
        *_changes(group, ids, are_all=members is None),
        group_conditions=(
            *sql_conditions.has_generation(generation),
            *conditions,
        ),
    )
    if counts is None:
        _check_generation(context, group, generation)
        return None
    rows = db.find(context, models.Member, models.Member.id.in_(ids))
    statuses = {row.id: row.status for row in rows}
    for member in affected:
        member.status = statuses.get(member.id, member.status)
    return any(counts[1:])


def _changes(
    group: VRTGroup, ids: Set[int], *, are_all: bool
) -> Iterator[Change]:
    """Return the changes that release members of a group.

    :param are_all: whether the whole group is released: then its other members
        may change meanwhile, and the reservations for resizes end, too
    """
    surplus = ids & _beyond_counts(group)
    for released, status in (
        (ids - surplus, states.Member.RELEASED),
        # Nobody misses these: they end.
        (surplus, states.Member.TENTATIVE),
    ):
        yield from _release_changes(
            sorted(released),
            states.MEMBER_RELEASABLE,
            expected=None if are_all else len(released),
            status=status,
        )
    if are_all:
        yield _release_reservations(group)


def _beyond_counts(group: VRTGroup) -> set[int]:
    """Return the ids of members that are placed for servers only.

    These are new ones of sets that grow, and wait for their servers.
    """
    beyond = set()
    for described in group.member_sets:
        placed = [
            each
            for each in group.members
            if each.member_set == described.path
            and each.status in states.MEMBER_PLACED
            and not each.is_successor
        ]
        number = max(0, len(placed) - described.wanted)
        reserved = [each.id for each in placed if each.reserved_for]
        beyond.update(reserved[max(0, len(reserved) - number) :])
    return beyond


def _check_generation(
    context: RequestContext, group: VRTGroup, generation: int | None
) -> None:
    row = VRTGroup.find_by_id(context, group.id)
    if row is None:
        raise exception.GroupNotFound(group=group.uuid)
    if generation not in (None, row.definition_generation):
        raise exception.GenerationConflict(group=group.uuid)


def expire(context: RequestContext, group: VRTGroup) -> bool:
    """Release the holds of a group that has expired.

    VRTGroup.extend() updates the group's row too: the group is extended as a
    whole or expires as a whole.

    :returns: True if anything was released; False when the group was extended
        in time, or another process has released it
    """
    with faultpoints.around('release.expire'):
        counts = transitions.change_members(
            context,
            group.id,
            *_release_changes(
                [member.id for member in group.members],
                [states.Member.HELD],
                models.Member.reserved_for.is_(None),
                status=states.Member.TENTATIVE,
                fault=f'its group {expiry_text(group.expires_at)}',
            ),
            _release_reservations(group),
            group_conditions=(
                *sql_conditions.may_have_holds(group.id),
                models.Group.expires_at <= clock.now(),
            ),
        )
    return counts is not None and any(counts)


def release_overdue(
    context: RequestContext, group: VRTGroup, lifetime: int
) -> bool:
    """Release the holds of a group that are older than the maximum.

    :param lifetime: maximum seconds of a hold
    :returns: True if anything was released
    """
    before = clock.now(-lifetime)
    overdue = sa.select(models.Member.id).where(
        models.Member.group_id == group.id,
        models.Member.reservation_since <= before,
    )
    counts = transitions.change_members(
        context,
        group.id,
        *_release_changes(
            [member.id for member in group.members],
            [states.Member.HELD],
            sql_conditions.is_held_since(before),
            models.Member.reserved_for.is_(None),
            status=states.Member.TENTATIVE,
            fault=HELD_TOO_LONG,
        ),
        _release_reservations(
            group, models.Hold.resize_member_id.in_(overdue)
        ),
        group_conditions=sql_conditions.may_have_holds(group.id),
    )
    return counts is not None and any(counts)


def _release_reservations(group: VRTGroup, *conditions: Condition) -> Change:
    """Return the change that releases resize reservations.

    :param conditions: conditions on the reservations; all by default
    """
    resizing = sa.select(models.Member.id).where(
        models.Member.group_id == group.id,
        models.Member.status == states.Member.ACTIVE,
    )
    is_unchanged = (
        models.Hold.group_id == group.id,
        models.Hold.resize_member_id.in_(resizing),
        sql_conditions.is_resize_reservation(),
        sql_conditions.stays_after_swap(),
        *conditions,
    )
    return Change(models.Hold, is_unchanged, {'status': states.Hold.RELEASING})


def _release_changes(
    ids: Sequence[int],
    statuses: Collection[states.Member],
    *conditions: Condition,
    expected: int | None = None,
    status: states.Member = states.Member.RELEASED,
    **values: Any,
) -> tuple[Change, ...]:
    """Return the changes that release members and their holds.

    Members whose holds are being exchanged stay unchanged.

    :param statuses: statuses of the members that change
    :param conditions: further conditions on the members
    :param expected: number of members that have to match; None for any
    :param status: RELEASED, or TENTATIVE if a create may place them again
    :param values: other values of the members
    """
    is_in_swap = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        (models.Hold.status == states.Hold.EXCHANGING)
        | models.Hold.ends_with_swap,
    )
    is_releasable = (
        models.Member.id.in_(ids),
        models.Member.status.in_(statuses),
        ~is_in_swap,
        *conditions,
    )
    released = {
        'status': status,
        'held_since': None,
        'reserved_for': None,
        **values,
    }
    return (
        Change(models.Member, is_releasable, released, expected),
        *_ends_of_holds(ids, status),
    )


def _ends_of_holds(
    ids: Sequence[int], status_of_member: states.Member
) -> Iterator[Change]:
    """Return the changes that end the holds of those members just released."""
    is_released = models.Hold.member_id.in_(
        sa.select(models.Member.id).where(
            models.Member.id.in_(ids),
            models.Member.status == status_of_member,
        )
    )
    return (
        # Ending a redeemed hold leaves the allocation with the failed server.
        Change(
            models.Hold,
            (models.Hold.status == status, is_released),
            redeems.end_values(status),
        )
        for status in (states.Hold.HELD, states.Hold.REDEEMED)
    )

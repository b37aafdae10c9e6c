# SPDX-License-Identifier: Apache-2.0
"""Members that a group no longer needs: it has as many others as it describes.

1. Members that were reserved for a server that does not come are free again.
2. Of each member set, held members beyond its count end, and members without
   a host that nobody is missing.

Each is one transaction with the group's row lock. Members that end go, with
their holds, to a draft that is deleted: the reaper empties the holds first.
"""

import collections
from collections.abc import Collection
from collections.abc import Sequence

from nova.context import RequestContext
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import definitions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import VRTMemberSet


def is_surplus(context: RequestContext, member: VRTMember) -> bool:
    """Check whether more members than described have a place.

    :param member: one that has a place
    """
    number = db.count(
        context,
        models.Member,
        models.Member.group_id == member.group_id,
        models.Member.member_set == member.member_set,
        models.Member.status.in_(states.MEMBER_PLACED),
    )
    return number > member.described.wanted


def end(context: RequestContext, group_id: int) -> None:
    """End the surplus members of a group.

    :param group_id: of a group that is no draft
    """

    def work() -> bool:
        if VRTHold.list_open(context, group_id):
            # A planner is changing the holds: the next round is early enough.
            return True
        group = VRTGroup.find_by_id(context, group_id)
        creates = VRTCreate.list_unended(context, group_id)
        awaited = {uuid for each in creates for uuid in each.server_uuids}
        rows = [
            row
            for described in VRTMemberSet.list_rows(
                context, models.MemberSet.group_id == group_id
            )
            for row in _end_reservations(context, described, awaited)
        ]
        if rows:
            _drop(context, group, rows)
        transitions.derive_status(context, group_id)
        return True

    db.with_row_lock(context, models.Group, work, id=group_id)


def list_groups(context: RequestContext) -> list[int]:
    """Return the ids of groups that may have surplus members."""
    is_reserved = models.Member.reserved_for.is_not(None)
    is_unplaced = models.Member.status.in_(states.MEMBER_NEEDS_HOST)
    candidates = (
        sa.select(models.Member.group_id)
        .where(
            models.Group.id == models.Member.group_id,
            models.Group.revises_id.is_(None),
            models.Group.status.in_(states.GROUP_REPLACEABLE),
            is_reserved | is_unplaced,
        )
        .correlate(None)
    )
    wanted = {
        (each.group_id, each.path): each.wanted
        for each in VRTMemberSet.list_rows(
            context, models.MemberSet.group_id.in_(candidates)
        )
    }
    numbers = collections.Counter()
    found = set()
    for group_id, member_set, status, reserved_for in db.find_columns(
        context,
        (
            *(models.Member.group_id, models.Member.member_set),
            *(models.Member.status, models.Member.reserved_for),
        ),
        models.Member,
        models.Member.group_id.in_(candidates),
    ):
        numbers[group_id, member_set] += 1
        if status == states.Member.HELD and reserved_for is not None:
            found.add(group_id)
    found |= {
        key[0]
        for key, number in numbers.items()
        if number > wanted.get(key, number)
    }
    return sorted(found)


def _end_reservations(
    context: RequestContext,
    described: VRTMemberSet,
    awaited: Collection[str],
) -> list[models.Member]:
    """Free the reserved members of a set; return those that are surplus.

    :param awaited: uuids of the servers that still wait
    """
    rows = db.find(
        context,
        models.Member,
        models.Member.group_id == described.group_id,
        models.Member.member_set == described.path,
    )
    held = [row for row in rows if row.status == states.Member.HELD]
    free = [row for row in held if row.reserved_for not in awaited]
    VRTMember.update_rows(
        context,
        models.Member.id.in_([row.id for row in free]),
        models.Member.reserved_for.is_not(None),
        reserved_for=None,
    )
    placed = [row for row in rows if row.status in states.MEMBER_PLACED]
    released = [row for row in rows if row.status == states.Member.RELEASED]
    unplaced = [row for row in rows if row.status in states.MEMBER_NEEDS_HOST]
    too_many = max(0, len(placed) - described.wanted)
    ending = free[max(0, len(free) - too_many) :]
    kept = len(placed) - len(ending) + len(released)
    return [*ending, *unplaced[max(0, described.wanted - kept) :]]


def _drop(
    context: RequestContext, group: VRTGroup, rows: Sequence[models.Member]
) -> None:
    """Move members with their holds to a draft that is deleted."""
    ids = [row.id for row in rows]
    is_held = models.Hold.member_id.in_(ids)
    VRTHold.update_rows(
        context,
        is_held,
        models.Hold.status == states.Hold.HELD,
        status=states.Hold.RELEASING,
    )
    trash = models.Group(
        uuid=uuidutils.generate_uuid(),
        **{
            name: getattr(group, name)
            for name in ('project_id', 'user_id', 'name', 'expires_in')
        },
        status=states.Group.RELEASING,
        hold_when_planned=True,
        revises_id=group.id,
    )
    [trash] = db.create_all(context, [trash])
    for model, column in definitions.OF_MEMBERS:
        definitions.assign_to_group(context, model, ids, trash, column)

# SPDX-License-Identifier: Apache-2.0
"""Adoptions: existing servers become members of a group by its revision.

The servers' holds are inserted for the draft. From then on its definition
restricts their moves, too. The commit of the revision assigns servers, holds
and moves to the group's members.
"""

from collections.abc import Mapping
from collections.abc import Sequence

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import definitions
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_placement import MemberPlacement
from nova_groupext.objects.move import VRTMove


def insert_holds(
    context: RequestContext,
    lease: VRTLease,
    group: VRTGroup,
    draft: VRTGroup,
    placements: Mapping[Path, MemberPlacement],
) -> list[VRTHold]:
    """Insert the holds of servers that a draft is to adopt.

    From then on the draft's definition, too, restricts their moves.

    The caller needs the project's lock, see quota.with_project_lock(): of two
    concurrent adoptions of one server the second is refused.

    :raises: GenerationConflict when another member has one of the servers, or
        the group cannot be revised any more, GroupBusy
    """
    members = [member for member in draft.members if member.path in placements]
    rows = [
        VRTHold.for_adoption(each, placements[each.path]) for each in members
    ]

    def work() -> list[VRTHold]:
        if not may_adopt(context, group, draft):
            raise exception.GenerationConflict(group=group.uuid)
        drafts.mark_binding(context, draft)
        # These are from an earlier try; Nova knows the moves in progress.
        ids = [member.id for member in members]
        db.delete(context, models.Move, models.Move.member_id.in_(ids))
        return VRTHold.create_all(context, rows)

    return swaps.with_lease(context, lease, work)


def may_adopt(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> bool:
    """Check that adopted servers are not another member's, and vice versa."""
    servers = drafts.servers_to_adopt(draft)
    current = definitions.rows_by_path(context, group)
    server_of = {
        current[path].id: servers[path] for path in servers.keys() & current
    }
    owners = VRTMember.list_by_servers(context, servers.values())
    return all(
        owner.group_id == draft.id
        or server_of.get(owner.id) == owner.server_uuid
        for owner in owners
    ) and not any(
        current[path].status in states.MEMBER_HAS_SERVER
        for path in servers.keys() & current
    )


def has_moves(context: RequestContext, swap: swaps.Swap) -> bool:
    """Check whether any adopted server has a stored move."""
    ids = [hold.member_id for hold in swap.adopted]
    return bool(ids and VRTMove.by_member(context, ids))


def assign_servers(
    context: RequestContext,
    group: VRTGroup,
    draft: VRTGroup,
    holds: Sequence[VRTHold],
) -> None:
    """Assign a draft's servers, their holds and moves to the group's members.

    The revision's swap releases the capacity held for these members before.

    :param holds: the holds of insert_holds()
    """
    rows = definitions.rows_by_path(context, group)
    paths = {member.id: member.path for member in draft.members}
    for hold in holds:
        member = VRTMember.from_row(context, rows[paths[hold.member_id]])
        changed = member.status_change(
            states.Member.ACTIVE, server_uuid=hold.server_uuid, fault=None
        )
        # Each by itself: a commit never fails.
        db.compare_and_set_all(context, changed)
        released = transitions.release_of_redeemed([member.id])
        db.compare_and_set_all(context, released)
        owner = {'group_id': group.id, 'member_id': member.id}
        hold.update_row(context, if_compensated=None, **owner)
        is_move = models.Move.member_id == hold.member_id
        VRTMove.update_rows(context, is_move, **owner)

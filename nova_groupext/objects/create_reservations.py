# SPDX-License-Identifier: Apache-2.0
"""Reservations of members for the servers of creates.

A reserved member is HELD, for a server that is about to redeem it. A create
gets all its members or none; it is PLACED then.
"""

from nova.context import RequestContext

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember


def are_open(context: RequestContext, draft: VRTGroup) -> bool:
    """Check whether all creates that a draft places are still open.

    Those that were given up may be deleted.
    """
    if not draft.is_for_creates:
        return True
    creates = VRTCreate.list_placed_by(context, draft)
    paths = {path for each in creates for path in each.members.values()}
    return paths >= draft.excluded_nodes.keys()


def count_servers(context: RequestContext, draft: VRTGroup) -> int:
    """Return the number of servers of the creates that a draft places.

    Some of them may get members that were held before.
    """
    if not draft.is_for_creates:
        return 0
    creates = VRTCreate.list_placed_by(context, draft)
    return sum(len(each.server_uuids) for each in creates)


def reserve_placed(
    context: RequestContext, group_id: int, draft: VRTGroup
) -> None:
    """Reserve the members that a draft has placed for their servers.

    The caller's transaction has the group's row lock. A member whose create
    has ended since the swap was prepared is reserved for no server: it ends.
    """
    if not draft.is_for_creates:
        return
    for create in VRTCreate.list_placed_by(context, draft):
        _reserve(context, group_id, create)
    VRTMember.update_rows(
        context,
        models.Member.path.in_(draft.excluded_nodes),
        *_is_free(group_id),
        reserved_for=draft.uuid,
    )


def reserve_held(
    context: RequestContext, lease: VRTLease, create: VRTCreate
) -> None:
    """Reserve members that were held before for the servers of a create."""

    def work() -> None:
        # As it is stored now, with the members that were chosen for it.
        current = VRTCreate.find_open(context, create.id)
        if current is not None:
            _reserve(context, lease.group_id, current)

    swaps.with_lease(context, lease, work)


def _reserve(
    context: RequestContext, group_id: int, create: VRTCreate
) -> None:
    """Reserve the chosen members of a create, all or none.

    If one of them is not HELD any more, or is reserved for another server, the
    create stays open.
    """
    is_free = _is_free(group_id)
    paths = [*create.members.values()]
    is_chosen = models.Member.path.in_(paths)
    if db.count(context, models.Member, is_chosen, *is_free) != len(paths):
        return
    for server_uuid, path in create.members.items():
        VRTMember.update_rows(
            context,
            models.Member.path == path,
            *is_free,
            reserved_for=server_uuid,
        )
    create.update_row(context, status=states.Create.PLACED)


def _is_free(group_id: int) -> tuple[Condition, ...]:
    """Return the conditions on held members of a group, not reserved yet."""
    return (
        models.Member.group_id == group_id,
        models.Member.status == states.Member.HELD,
        models.Member.reserved_for.is_(None),
    )

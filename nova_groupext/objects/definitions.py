# SPDX-License-Identifier: Apache-2.0
"""Definitions of groups, exchanged between a group and its draft."""

from collections.abc import Sequence

from nova.context import RequestContext

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Column
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Flavor
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup

# Parts besides members and the group's columns
_PARTS = (models.Subgroup, models.Policy, models.Relationship)
GROUP_COLUMNS = ('name', 'description', 'expires_in')
MEMBER_COLUMNS = ('member_set', 'description', 'resolved_request')


def exchange(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Exchange the parts of group and draft.

    The group also takes the draft's columns; the draft keeps its own.
    """
    for model in _PARTS:
        old = _row_ids(context, model, group)
        assign_to_group(context, model, _row_ids(context, model, draft), group)
        assign_to_group(context, model, old, draft)
    _exchange_members(context, group, draft)
    columns = {name: getattr(draft, name) for name in GROUP_COLUMNS}
    group.update_row(context, **columns)


def _exchange_members(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Exchange members that only one of the two has; update the others.

    A member with the same path keeps its row.
    """
    current = rows_by_path(context, group)
    drafted = rows_by_path(context, draft)
    dropped = [current[path] for path in current.keys() - drafted.keys()]
    new = [drafted[path] for path in drafted.keys() - current.keys()]
    for rows, owner in ((dropped, draft), (new, group)):
        ids = [row.id for row in rows]
        for model, column in (
            (models.Member, models.Member.id),
            (models.Hold, models.Hold.member_id),
            (models.Hold, models.Hold.resize_member_id),
            (models.Move, models.Move.member_id),
        ):
            assign_to_group(context, model, ids, owner, column)
    for path in current.keys() & drafted.keys():
        _update_description(context, current[path], drafted[path])


def _update_description(
    context: RequestContext, member: models.Member, drafted: models.Member
) -> None:
    new, old = (
        {name: getattr(row, name) for name in MEMBER_COLUMNS}
        for row in (drafted, member)
    )
    if new != old:
        if member.status == states.Member.ACTIVE:
            new['server_flavor'] = _server_flavor(member, drafted)
        is_member = models.Member.id == member.id
        member_obj.VRTMember.update_rows(context, is_member, **new)


def _server_flavor(
    member: models.Member, drafted: models.Member
) -> Flavor | None:
    """Return the server's flavor if its new description differs, or None."""
    flavor = member.server_flavor
    if flavor is None and member.resolved_request != drafted.resolved_request:
        flavor = member_obj.flavor_of(member.resolved_request)
    if flavor and flavor['id'] == drafted.resolved_request['flavor_id']:
        return None
    return flavor


def rows_by_path(
    context: RequestContext, group: VRTGroup
) -> dict[Path, models.Member]:
    """Return {path: row}."""
    rows = db.find(context, models.Member, models.Member.group_id == group.id)
    return {row.path: row for row in rows}


def _row_ids(
    context: RequestContext, model: type[models.Base], group: VRTGroup
) -> list[int]:
    return [
        row.id for row in db.find(context, model, model.group_id == group.id)
    ]


def assign_to_group(
    context: RequestContext,
    model: type[models.Base],
    ids: Sequence[int],
    group: VRTGroup,
    column: Column | None = None,
) -> None:
    """Assign rows to another group.

    :param column: column that the ids refer to; the rows' own by default
    """
    column = model.id if column is None else column
    db.compare_and_set(context, model, column.in_(ids), group_id=group.id)

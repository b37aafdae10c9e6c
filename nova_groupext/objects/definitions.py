# SPDX-License-Identifier: Apache-2.0
"""Definitions of groups, exchanged between a group and its draft."""

from collections.abc import Sequence

from nova.context import RequestContext
from oslo_serialization import jsonutils

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Column
from nova_groupext.objects import states
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import are_alike

# Parts besides members and the group's columns
_PARTS = (
    models.Subgroup,
    models.MemberSet,
    models.Policy,
    models.Relationship,
)
# Rows of members and of what they own, with the column of the member's id
OF_MEMBERS = (
    (models.Member, models.Member.id),
    (models.Hold, models.Hold.member_id),
    (models.Hold, models.Hold.resize_member_id),
    (models.Move, models.Move.member_id),
)
GROUP_COLUMNS = ('name', 'description', 'expires_in')


def exchange(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Exchange the parts of group and draft.

    The group also takes the draft's columns; the draft keeps its own. Another
    definition than before is a new generation for the API.
    """
    is_other = _described(context, group) != _described(context, draft)
    _exchange_members(context, group, draft)
    for model in _PARTS:
        old = _row_ids(context, model, group)
        assign_to_group(context, model, _row_ids(context, model, draft), group)
        assign_to_group(context, model, old, draft)
    columns = {name: getattr(draft, name) for name in GROUP_COLUMNS}
    if is_other:
        columns['definition_generation'] = (
            models.Group.definition_generation + 1
        )
    group.update_row(context, **columns)


def _described(context: RequestContext, group: VRTGroup) -> list[str]:
    """Return what a tenant has described, to compare it with another."""
    subgroups, member_sets, policies, relationships = (
        db.find(context, model, model.group_id == group.id) for model in _PARTS
    )
    between = {row.id: row.definition for row in relationships}
    parts = [
        *({'path': row.path} for row in subgroups),
        *(
            {'path': row.path, **row.description}
            for row in member_sets
            if not row.is_left_out
        ),
        *(
            {'at': row.at, 'of': between.get(row.relationship_id)}
            | row.definition
            for row in policies
        ),
        *({'at': row.at, **row.definition} for row in relationships),
        {name: getattr(group, name) for name in GROUP_COLUMNS},
    ]
    return sorted(jsonutils.dumps(part, sort_keys=True) for part in parts)


def _exchange_members(
    context: RequestContext, group: VRTGroup, draft: VRTGroup
) -> None:
    """Exchange members that only one of the two has; update the others.

    A member with the same path keeps its row, and the request of its server.
    """
    requests = _requests(context, group), _requests(context, draft)
    current = rows_by_path(context, group)
    drafted = rows_by_path(context, draft)
    dropped = [current[path] for path in current.keys() - drafted.keys()]
    new = [drafted[path] for path in drafted.keys() - current.keys()]
    for rows, owner in ((dropped, draft), (new, group)):
        ids = [row.id for row in rows]
        for model, column in OF_MEMBERS:
            assign_to_group(context, model, ids, owner, column)
    for path in current.keys() & drafted.keys():
        _redescribe(context, current[path], drafted[path], *requests)


def _redescribe(
    context: RequestContext,
    member: models.Member,
    drafted: models.Member,
    old_requests: dict[Path, JsonObject],
    new_requests: dict[Path, JsonObject],
) -> None:
    """Move a member to the member set of its path in the draft.

    The draft says for which request it holds; a server keeps its own.
    """
    server_request = drafted.server_request
    if member.status in states.MEMBER_HAS_SERVER:
        present = member.server_request or old_requests[member.member_set]
        is_like = are_alike(present, new_requests[drafted.member_set])
        server_request = None if is_like else present
    new = drafted.member_set, server_request
    if new != (member.member_set, member.server_request):
        is_member = models.Member.id == member.id
        values = dict(zip(('member_set', 'server_request'), new, strict=True))
        VRTMember.update_rows(context, is_member, **values)


def _requests(
    context: RequestContext, group: VRTGroup
) -> dict[Path, JsonObject]:
    """Return {member set: its resolved request} of the stored definition."""
    rows = db.find(
        context, models.MemberSet, models.MemberSet.group_id == group.id
    )
    return {row.path: row.resolved_request for row in rows}


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
    group: VRTGroup | models.Group,
    column: Column | None = None,
) -> None:
    """Assign rows to another group.

    :param column: column that the ids refer to; the rows' own by default
    """
    column = model.id if column is None else column
    db.compare_and_set(context, model, column.in_(ids), group_id=group.id)

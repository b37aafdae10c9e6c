# SPDX-License-Identifier: Apache-2.0
"""Members of other groups that a group's relationships name."""

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup


def named_parts(group: VRTGroup) -> set[tuple[str, Path]]:
    """Return (uuid, path) of the parts of other groups that a group names.

    The path is '' where the part is the whole group.
    """
    return {
        (part['group'], part.get('path', ''))
        for relationship in group.relationships
        for part in relationship.definition['between']
        if isinstance(part, dict)
    }


def has_members(
    context: RequestContext, project_id: str, group_uuid: str, path: Path
) -> bool:
    """Check whether a part of a project's group contains any member."""
    is_in_part = _is_in_part(project_id, group_uuid, path)
    return bool(db.count(context, models.Member, *is_in_part))


def list_locations(
    context: RequestContext, project_id: str, group_uuid: str, path: Path
) -> list[list[str]]:
    """Return the locations of the members in a part of a project's group.

    :returns: [member path, host, node] of the members with a committed hold,
        held or redeemed
    """
    return db.find_columns(
        context,
        (models.Member.path, models.Hold.host, models.Hold.node),
        models.Member,
        models.Hold.member_id == models.Member.id,
        models.Hold.status.in_(states.HOLD_COMMITTED),
        *_is_in_part(project_id, group_uuid, path),
    )


def _is_in_part(
    project_id: str, group_uuid: str, path: Path
) -> tuple[Condition, ...]:
    """Return the conditions on members of a group that is no draft."""
    member = models.Member
    below = f'{path}/'
    # LIKE ignores case on SQLite.
    start = sa.func.substr(member.path, 1, len(below))
    names = (member.path == path, member.member_set == path, start == below)
    return (
        sa.true() if not path else sa.or_(*names),
        member.group_id == models.Group.id,
        models.Group.uuid == group_uuid,
        models.Group.project_id == project_id,
        models.Group.status != states.Group.RELEASING,
        models.Group.revises_id.is_(None),
    )

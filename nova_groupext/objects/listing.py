# SPDX-License-Identifier: Apache-2.0
"""Group listings for clients: filtered, sorted and paginated.

A marker names the last group of the previous page and contains its sort value,
so that it still works after the group was changed or deleted. A group's id is
a UUID of version 7 (RFC 9562): its first bits are the time of creation. So ids
sort by creation, and the id alone is the marker of that order.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import secrets
import time
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeAlias
import uuid

from nova.context import RequestContext
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Column
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup

#: Id of a group, and its sort value if the order is not that of creation.
Marker: TypeAlias = tuple[str, Any]

CREATED_AT = 'created_at'


def _with_server(server_uuid: str) -> Condition:
    return sa.exists().where(
        models.Member.group_id == models.Group.id,
        models.Member.server_uuid == server_uuid,
    )


def _changed_at(group: type[models.Group] = models.Group) -> Column:
    return sa.func.coalesce(group.updated_at, group.created_at)


def _changed_since(time: datetime.datetime) -> Condition:
    """Return the condition that a group or its draft changed since a time."""
    draft = orm.aliased(models.Group)
    return (_changed_at() >= time) | sa.exists().where(
        draft.revises_id == models.Group.id, _changed_at(draft) >= time
    )


#: {name of a filter: function of its value that returns a condition}
FILTERS = {
    'project_id': lambda value: models.Group.project_id == value,
    'name': lambda value: models.Group.name == value,
    'status': lambda value: models.Group.status == value,
    'client_token': lambda value: models.Group.client_token == value,
    'member_status': sql_conditions.has_member,
    'server_id': _with_server,
    'changes-since': _changed_since,
}


@dataclasses.dataclass(frozen=True)
class SortKey:
    """Order of a list, and the form of its values in markers.

    :ivar column: returns the column, or expression
    :ivar to_text: returns the value of a group as text
    :ivar from_text: returns the value of that text; raises ValueError
    """

    column: Callable[[], Column]
    to_text: Callable[['VRTGroup'], str]
    from_text: Callable[[str], Any] = str


def _read_time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=None)


#: Sort keys of groups; groups with equal values are sorted by creation.
SORT_KEYS = {
    CREATED_AT: None,
    'updated_at': SortKey(
        _changed_at,
        lambda group: (group.updated_at or group.created_at).isoformat(),
        _read_time,
    ),
    'name': SortKey(lambda: models.Group.name, lambda group: group.name),
    'status': SortKey(lambda: models.Group.status, lambda group: group.status),
}

_IS_LISTED = (
    models.Group.status != states.Group.RELEASING,
    models.Group.revises_id.is_(None),
)


def marker_of(group: 'VRTGroup', sort_key: str) -> str:
    """Return the marker of the page that follows a group.

    :param sort_key: one of SORT_KEYS
    """
    key = SORT_KEYS[sort_key]
    return f'{group.uuid}:{key.to_text(group)}' if key else group.uuid


def parse_marker(marker: str, sort_key: str) -> Marker:
    """Return the id of a group, and its sort value or None, of a marker.

    :raises: ValueError
    """
    group_id, colon, text = marker.partition(':')
    key = SORT_KEYS[sort_key]
    if colon and key is None:
        raise ValueError(marker)
    # In the form of the rows, with which it is compared as text.
    group_id = str(uuid.UUID(group_id))
    return group_id, key.from_text(text) if colon else None


def new_id() -> str:
    """Return a group id that sorts after all earlier ones.

    Exceptions are ids of the same millisecond, or made by a clock that is
    ahead.
    """
    milliseconds = time.time_ns() // 10**6
    number = milliseconds << 80 | secrets.randbits(80)
    # The version, and the variant of RFC 9562.
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def find_rows(
    context: RequestContext,
    *,
    marker: Marker | None = None,
    limit: int | None = None,
    sort_key: str = CREATED_AT,
    is_descending: bool = False,
    **filters: Any,
) -> list[models.Group]:
    """Return the rows of groups; no deleted ones, no drafts.

    :param sort_key: one of SORT_KEYS
    :param filters: values by names of FILTERS
    :param marker: (id, sort value) of the last group of the previous page, or
        None; the present value of a listed group is read if it is None
    :raises: GroupNotFound for the id alone of a group that is not listed, or
        of a project that the filters exclude; not when groups are sorted by
        creation
    """
    key = SORT_KEYS[sort_key]
    order = [models.Group.uuid]
    if key is not None:
        order.insert(0, key.column())
    conditions = [
        *_IS_LISTED,
        *(FILTERS[name](value) for name, value in filters.items()),
    ]
    if marker is not None:
        last = _sort_values(context, *marker, filters, order)
        conditions.append(_is_after(order, last, is_descending))
    if is_descending:
        order = [column.desc() for column in order]
    return db.find(
        context, models.Group, *conditions, order=order, limit=limit
    )


def _sort_values(
    context: RequestContext,
    uuid: str,
    value: Any,
    filters: Mapping[str, Any],
    order: Sequence[Column],
) -> list[Any]:
    """Return the sort values of a page's last group."""
    if len(order) == 1:
        return [uuid]
    if value is not None:
        return [value, uuid]
    # Excludes other projects: clients could find out names of their groups by
    # trial.
    project = {'project_id'} & filters.keys()
    rows = db.find_columns(
        context,
        order,
        models.Group,
        models.Group.uuid == uuid,
        *_IS_LISTED,
        *(FILTERS[name](filters[name]) for name in project),
    )
    if not rows:
        raise exception.GroupNotFound(group=uuid)
    return rows[0]


def _is_after(
    order: Sequence[Column], last: Sequence[Any], is_descending: bool
) -> Condition:
    """Return the condition that a group comes after some sort values."""

    def is_beyond(column: Column, value: Any) -> Condition:
        return column < value if is_descending else column > value

    first, *rest = zip(order, last, strict=True)
    condition = is_beyond(*first)
    for column, value in rest:
        condition |= sa.and_(first[0] == first[1], is_beyond(column, value))
    return condition

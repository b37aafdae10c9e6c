# SPDX-License-Identifier: Apache-2.0
"""Group listings for clients: filtered, sorted and paginated.

A group's id is a UUID of version 7 (RFC 9562): its first bits are the time of
creation. So ids sort by creation, and a marker still works after its group was
deleted.
"""

import secrets
import time
import uuid

import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states

CREATED_AT = 'created_at'


def _with_server(server_uuid):
    return sa.exists().where(
        models.Member.group_id == models.Group.id,
        models.Member.server_uuid == server_uuid,
    )


def _changed_at(group=models.Group):
    return sa.func.coalesce(group.updated_at, group.created_at)


def _changed_since(time):
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


#: Sort keys of groups; groups with equal values are sorted by creation.
SORT_KEYS = {
    CREATED_AT: None,
    'updated_at': _changed_at,
    'name': lambda: models.Group.name,
    'status': lambda: models.Group.status,
}


def new_id():
    """Return a group id that sorts after all earlier ones.

    Exceptions are ids of the same millisecond, or made by a clock that is
    ahead.
    """
    milliseconds = time.time_ns() // 10**6
    number = milliseconds << 80 | secrets.randbits(80)
    # The version, and the variant of RFC 9562.
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def find_rows(context, filters, sort_key, marker, limit, *, is_descending):
    """Return the rows of groups; no deleted ones, no drafts.

    :param filters: {name of FILTERS: value}
    :param sort_key: one of SORT_KEYS
    :param marker: id of the last group of the previous page, or None
    :raises: GroupNotFound for a marker without a row, or of a project that the
        filters exclude; not when groups are sorted by creation
    """
    order = [models.Group.uuid]
    if SORT_KEYS[sort_key] is not None:
        order.insert(0, SORT_KEYS[sort_key]())
    conditions = [
        models.Group.status != states.Group.RELEASING,
        models.Group.revises_id.is_(None),
        *(FILTERS[name](value) for name, value in filters.items()),
    ]
    if marker is not None:
        last = _sort_values(context, marker, filters, order)
        conditions.append(_is_after(order, last, is_descending))
    if is_descending:
        order = [column.desc() for column in order]
    return db.find(
        context, models.Group, *conditions, order=order, limit=limit
    )


def _sort_values(context, marker, filters, order):
    """Return the sort values of a page's last group."""
    if len(order) == 1:
        return [marker]
    # Excludes other projects: clients could find out names of their groups by
    # trial.
    project = {'project_id'} & filters.keys()
    rows = db.find_columns(
        context,
        order,
        models.Group,
        models.Group.uuid == marker,
        *(FILTERS[name](filters[name]) for name in project),
    )
    if not rows:
        raise exception.GroupNotFound(group=marker)
    return rows[0]


def _is_after(order, last, is_descending):
    """Return the condition that a group comes after some sort values."""

    def is_beyond(column, value):
        return column < value if is_descending else column > value

    first, *rest = zip(order, last, strict=True)
    condition = is_beyond(*first)
    for column, value in rest:
        condition |= sa.and_(first[0] == first[1], is_beyond(column, value))
    return condition

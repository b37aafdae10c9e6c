# SPDX-License-Identifier: Apache-2.0
"""Groups as clients list them: filtered, sorted, page by page.

A group's id is a UUID of version 7 (RFC 9562): its first bits are the time at
which it was made. So ids sort as groups came, and whoever names the last group
of a page gets the next page also when that one was deleted meanwhile.
"""

import secrets
import time
import uuid

import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states

CREATED_AT = 'created_at'


def _with_server(server_uuid):
    return sa.exists().where(
        models.Member.group_id == models.Group.id,
        models.Member.server_uuid == server_uuid,
    )


#: Name of a filter -> condition on a group by the filter's value.
FILTERS = {
    'project_id': lambda value: models.Group.project_id == value,
    'name': lambda value: models.Group.name == value,
    'status': lambda value: models.Group.status == value,
    'client_token': lambda value: models.Group.client_token == value,
    'member_status': conditions.has_member,
    'server_id': _with_server,
    'changes-since': lambda value: _changed_at() >= value,
}


def _changed_at():
    return sa.func.coalesce(models.Group.updated_at, models.Group.created_at)


#: What groups can be sorted by; those that are equal come as they were made.
SORT_KEYS = {
    CREATED_AT: None,
    'updated_at': _changed_at,
    'name': lambda: models.Group.name,
    'status': lambda: models.Group.status,
}


def new_id():
    """Return an id for a group that sorts after all that were made before.

    But for those of the same millisecond, or by a clock that is ahead.
    """
    milliseconds = time.time_ns() // 10**6
    number = milliseconds << 80 | secrets.randbits(80)
    # The version, and the variant of RFC 9562.
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def rows(context, filters, sort_key, marker, limit, *, is_descending):
    """Return the rows of groups that were not deleted, without drafts.

    :param filters: {name of FILTERS: value}
    :param sort_key: of SORT_KEYS
    :param marker: id of the last group of the page before, or None
    :raises: GroupNotFound for a marker that is none; one that was deleted, or
        is another project's, is none either, but where groups are sorted by
        when they were made
    """
    order = [models.Group.uuid]
    if SORT_KEYS[sort_key] is not None:
        order.insert(0, SORT_KEYS[sort_key]())
    wanted = [
        models.Group.status != states.Group.RELEASING,
        models.Group.revises_id.is_(None),
        *(FILTERS[name](value) for name, value in filters.items()),
    ]
    if marker is not None:
        last = _last(context, marker, filters, order)
        wanted.append(_is_after(order, last, is_descending))
    by = [each.desc() if is_descending else each for each in order]
    return db.find(context, models.Group, *wanted, order=by, limit=limit)


def _last(context, marker, filters, order):
    """Return the values by which a page's last group was sorted."""
    if len(order) == 1:
        return [marker]
    # Not of another project: names of its groups would be found by trying.
    project = {'project_id'} & filters.keys()
    found = db.find_columns(
        context,
        order,
        models.Group,
        models.Group.uuid == marker,
        *(FILTERS[name](filters[name]) for name in project),
    )
    if not found:
        raise exception.GroupNotFound(group=marker)
    return found[0]


def _is_after(order, last, is_descending):
    """The condition on a group that it comes after another."""

    def is_beyond(column, value):
        return column < value if is_descending else column > value

    first, *rest = zip(order, last, strict=True)
    condition = is_beyond(*first)
    for column, value in rest:
        condition |= sa.and_(first[0] == first[1], is_beyond(column, value))
    return condition

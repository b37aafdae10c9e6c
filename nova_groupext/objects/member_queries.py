# SPDX-License-Identifier: Apache-2.0
"""Queries for members."""

from collections.abc import Collection
from collections.abc import Iterable
import contextlib
import datetime
import itertools
import typing
from typing import Any
from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import quota_queries
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.hold import VRTHold


class MemberName(typing.NamedTuple):
    """A member's place in the topology.

    :ivar member_set: path of its member set
    :ivar is_successor: see VRTMember.is_successor
    """

    id: int
    path: Path
    member_set: Path
    is_successor: bool


class MemberQueries(quota_queries.QuotaQueries):
    """The part of VRTMember that finds members by group, server and state."""

    @classmethod
    def get_by_path(
        cls,
        context: RequestContext,
        group_uuid: str,
        path: Path,
        *,
        project_id: str,
    ) -> Self:
        """Return a member of a project's group that was not deleted.

        The query reads one member, because a group may have a thousand. The
        path that a successor is stored with is no name.

        :raises: MemberNotFound when the group or the member is missing
        """
        row = db.find_one(
            context,
            models.Member,
            models.Member.path == path,
            models.Member.succeeds.is_(None),
            *_is_in_group(group_uuid, project_id),
            load=(models.Member.group, models.Member.described),
        )
        if row is None:
            raise exception.MemberNotFound(group=group_uuid, member=path)
        return cls.from_row(context, row, **group_fields(row.group))

    @classmethod
    def list_by_path(
        cls,
        context: RequestContext,
        group_uuid: str,
        path: Path,
        *,
        project_id: str,
    ) -> list[Self]:
        """Return the members under a path, in the order of the description.

        :param path: of one member, a member set (members with a count), or a
            subgroup; '' for the group
        :raises: MemberNotFound as get_by_path() does
        """
        with contextlib.suppress(exception.MemberNotFound):
            return [
                cls.get_by_path(
                    context, group_uuid, path, project_id=project_id
                )
            ]
        # LIKE ignores case on SQLite.
        below = f'{path}/'
        start = sa.func.substr(models.Member.path, 1, len(below))
        is_below = (models.Member.member_set == path) | (start == below)
        rows = db.find(
            context,
            models.Member,
            *([is_below] if path else []),
            *_is_in_group(group_uuid, project_id),
            load=(models.Member.group, models.Member.described),
        )
        if not rows:
            raise exception.MemberNotFound(group=group_uuid, member=path)
        return cls.from_rows(context, rows, with_group=True)

    @classmethod
    def list_of_servers(
        cls, context: RequestContext, group_uuid: str, uuids: Collection[str]
    ) -> list[Self]:
        """Return the members that some servers of a group have, or get."""
        has_server = models.Member.status.in_(states.MEMBER_HAS_SERVER)
        rows = db.find(
            context,
            models.Member,
            models.Member.reserved_for.in_(uuids)
            | (models.Member.server_uuid.in_(uuids) & has_server),
            models.Member.group_id == models.Group.id,
            models.Group.uuid == group_uuid,
            load=(models.Member.group, models.Member.described),
        )
        return cls.from_rows(context, rows, with_group=True)

    @staticmethod
    def list_names(context: RequestContext, group_id: int) -> list[MemberName]:
        """Return the names of a group's members, oldest first."""
        member = models.Member
        columns = member.id, member.path, member.member_set, member.succeeds
        rows = db.find_columns(
            context, columns, member, member.group_id == group_id
        )
        return [
            MemberName(number, path, member_set, succeeds is not None)
            for number, path, member_set, succeeds in sorted(rows)
        ]

    @classmethod
    def list_by_ids(
        cls, context: RequestContext, ids: Collection[int]
    ) -> list[Self]:
        return cls.list_rows(context, models.Member.id.in_(ids))

    @staticmethod
    def held_until(
        context: RequestContext, group_id: int, lifetime: int
    ) -> datetime.datetime | None:
        """Return the time when the last hold of a group ends at the latest.

        :param lifetime: maximum seconds of a hold
        :returns: naive UTC datetime; None where nothing is held
        """
        rows = db.find(
            context,
            models.Member,
            models.Member.group_id == group_id,
            (models.Member.status == states.Member.HELD)
            | sql_conditions.is_resizing(),
        )
        since = [
            row.held_since
            if row.status == states.Member.HELD
            else row.reservation_since
            for row in rows
        ]
        if not since:
            return None
        return max(since) + datetime.timedelta(seconds=lifetime)

    @classmethod
    def list_with_servers(
        cls, context: RequestContext, group_id: int | None = None
    ) -> list[Self]:
        """Return the members whose servers the follow step tracks.

        Failed members are included while their servers own capacity.

        :param group_id: id of one group; all groups by default
        """
        conditions = [
            _has_status_or_server(
                states.MEMBER_SERVER_RUNS, ~sql_conditions.is_adopted()
            )
        ]
        if group_id is not None:
            conditions.append(models.Member.group_id == group_id)
        return cls.list_rows(
            context, *conditions, load=[models.Member.described]
        )

    @classmethod
    def list_by_servers(
        cls, context: RequestContext, uuids: Iterable[str]
    ) -> list[Self]:
        """Return the members, of groups not deleted, that have some servers.

        Members that are being redeemed or adopted are included, as are the
        failed ones of list_with_servers().
        """
        return cls.list_rows(
            context,
            *_are_of_servers(uuids, models.Group),
        )

    @classmethod
    def server_uuids(cls, context: RequestContext, group_id: int) -> set[str]:
        """Return the uuids of servers that a group's members have or had."""
        rows = db.find(
            context,
            models.Member,
            models.Member.group_id == group_id,
            models.Member.server_uuid.is_not(None),
        )
        return {row.server_uuid for row in rows}

    @classmethod
    def list_stuck_redeems(
        cls, context: RequestContext, seconds: int
    ) -> list[Self]:
        """Return the members in REDEEMING for longer than some seconds."""
        return cls.list_rows(
            context,
            models.Member.status == states.Member.REDEEMING,
            models.Member.updated_at < clock.now(-seconds),
        )

    @classmethod
    def list_with_holds(
        cls, context: RequestContext
    ) -> list[tuple[Self, list[VRTHold]]]:
        """Return [(member, its committed holds)] of one instant.

        Members that should have a hold are included even without one.
        """
        pairs = db.left_join(
            context,
            models.Member,
            models.Hold,
            sa.and_(
                models.Hold.member_id == models.Member.id,
                models.Hold.status.in_(states.HOLD_COMMITTED),
                ~sql_conditions.is_adopted(),
            ),
            models.Member.status.in_(states.MEMBER_REQUIRES_HOLD)
            | models.Hold.id.is_not(None),
        )
        return [
            (
                cls.from_row(context, member),
                [
                    VRTHold.from_row(context, hold)
                    for _member, hold in rows
                    if hold is not None
                ],
            )
            for member, rows in itertools.groupby(pairs, lambda pair: pair[0])
        ]


def _has_status_or_server(
    statuses: Collection[states.Member], *hold_conditions: Condition
) -> Condition:
    """Return the condition that a member has a status or a redeemed hold.

    :param hold_conditions: conditions on the redeemed hold
    """
    has_redeemed = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        models.Hold.status == states.Hold.REDEEMED,
        *hold_conditions,
    )
    return models.Member.status.in_(statuses) | has_redeemed


def have_members(uuids: Collection[str]) -> Condition:
    """Return the condition that any member has one of some servers.

    As for MemberQueries.list_by_servers(); it refers to no other table.
    """
    group = orm.aliased(models.Group)
    return (
        sa.exists()
        .where(
            *_are_of_servers(uuids, group),
        )
        .correlate(None)
    )


def _are_of_servers(
    uuids: Iterable[str], group: type[models.Group]
) -> tuple[Condition, ...]:
    """Return the conditions on members that have one of some servers.

    :param group: the model, or an alias of it
    """
    return (
        models.Member.server_uuid.in_(list(uuids)),
        _has_status_or_server(states.MEMBER_HAS_SERVER),
        models.Member.group_id == group.id,
        group.status != states.Group.RELEASING,
    )


def group_fields(group: models.Group) -> dict[str, Any]:
    """Return the fields of a member that its group determines."""
    return {'expires_at': group.expires_at, 'has_expired': group.has_expired}


def _is_in_group(group_uuid: str, project_id: str) -> tuple[Condition, ...]:
    """Return the conditions on members of a project's group, not deleted."""
    return (
        models.Member.group_id == models.Group.id,
        models.Group.uuid == group_uuid,
        models.Group.project_id == project_id,
        models.Group.status != states.Group.RELEASING,
    )

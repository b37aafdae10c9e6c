# SPDX-License-Identifier: Apache-2.0
"""Queries for members that count for a project's quota."""

from collections.abc import Collection
from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Time
from nova_groupext.objects import base
from nova_groupext.objects import states


class QuotaQueries(base.VRTObject):
    """The part of VRTMember that finds what counts for quota."""

    @classmethod
    def count_held(
        cls,
        context: RequestContext,
        project_id: str,
        excluded_ids: Collection[int] = (),
    ) -> list[tuple[Self, int]]:
        """Return [(member, number like it)] of a project's held capacity.

        Members of one member set are alike, but for those of a former
        description. A member counts once if any of its holds is in
        states.HOLD_COUNTS_FOR_QUOTA, whatever its own state.

        :param excluded_ids: ids of members that do not count
        """
        conditions = (
            models.Member.id.not_in(excluded_ids),
            *_counts_for_quota(project_id),
        )
        load = (models.Member.described,)
        counts = db.count_by(
            context,
            models.Member,
            (models.Member.group_id, models.Member.member_set),
            models.Member.server_request.is_(None),
            *conditions,
            load=load,
        )
        former = cls.list_rows(
            context,
            models.Member.server_request.is_not(None),
            *conditions,
            load=load,
        )
        return [
            *((cls.from_row(context, row), count) for row, count in counts),
            *((member, 1) for member in former),
        ]

    @classmethod
    def list_resizing(
        cls,
        context: RequestContext,
        project_id: str,
        excluded_ids: Collection[int] = (),
    ) -> list[Self]:
        """Return the members of a project that hold capacity for a resize.

        :param excluded_ids: ids of members to leave out
        """
        return cls.list_rows(
            context,
            models.Member.id.not_in(excluded_ids),
            models.Member.server_request.is_not(None),
            models.Member.group_id == models.Group.id,
            models.Group.project_id == project_id,
            sa.exists().where(
                models.Hold.resize_member_id == models.Member.id,
                models.Hold.status.in_(states.HOLD_COUNTS_FOR_QUOTA),
            ),
            load=(models.Member.described,),
        )

    @classmethod
    def list_redeemed_since(
        cls, context: RequestContext, project_id: str, since: Time
    ) -> list[Self]:
        """Return the members of a project with recently redeemed holds."""
        return cls.list_rows(
            context,
            models.Member.server_uuid.is_not(None),
            models.Member.group_id == models.Group.id,
            models.Group.project_id == project_id,
            models.Hold.member_id == models.Member.id,
            models.Hold.status == states.Hold.REDEEMED,
            models.Hold.updated_at >= since,
            load=(models.Member.described,),
        )

    @classmethod
    def list_redeeming(
        cls, context: RequestContext, project_id: str
    ) -> list[Self]:
        """Return the members of a project whose servers are being created."""
        return cls.list_rows(
            context,
            (models.Member.status == states.Member.REDEEMING)
            | models.Member.reserved_for.is_not(None),
            *_counts_for_quota(project_id),
            load=(models.Member.described,),
        )


def _counts_for_quota(project_id: str) -> tuple[Condition, ...]:
    """Return the conditions on a project's members with holds in its quota."""
    return (
        models.Member.group_id == models.Group.id,
        models.Group.project_id == project_id,
        sa.exists().where(
            models.Hold.member_id == models.Member.id,
            models.Hold.status.in_(states.HOLD_COUNTS_FOR_QUOTA),
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Queries for the groups that planners work on."""

from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.lease import VRTLease

# Seconds after which no process without a lease can still be working
ABANDONED_AFTER = 120


class WorkQueries(base.VRTObject):
    """The part of VRTGroup that finds the groups that have work to do."""

    @classmethod
    def list_expired(cls, context: RequestContext) -> list[Self]:
        """Return the groups that have expired and still hold capacity."""
        return cls._list(
            context,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            models.Group.expires_at <= clock.now(),
            sql_conditions.has_member(states.Member.HELD)
            | sql_conditions.has_resize_reservation(),
        )

    @classmethod
    def list_held_long(
        cls, context: RequestContext, lifetime: int
    ) -> list[Self]:
        """Return the groups with a hold older than the maximum lifetime.

        :param lifetime: seconds
        """
        before = clock.now(-lifetime)
        is_over = sql_conditions.is_held_since(before) | (
            sql_conditions.is_resizing()
            & (models.Member.reservation_since <= before)
        )
        return cls._list(
            context,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            sa.exists().where(
                models.Member.group_id == models.Group.id, is_over
            ),
        )

    @classmethod
    def list_with_failed(
        cls, context: RequestContext, max_attempts: int
    ) -> list[Self]:
        """Return the groups with failed members that may be placed again.

        :param max_attempts: maximum number of automatic replacements of a
            member; one is always allowed if a swap has lost its hold
        """
        is_lost = sa.exists().where(
            models.Hold.member_id == models.Member.id, sql_conditions.is_lost()
        )
        return cls._list(
            context,
            models.Group.revises_id.is_(None),
            models.Group.status.in_(states.GROUP_REPLACEABLE),
            models.Group.expires_at > clock.now(),
            sa.exists().where(
                models.Member.group_id == models.Group.id,
                models.Member.status == states.Member.FAILED,
                (models.Member.replacement_attempts < max_attempts)
                | (is_lost & (models.Member.replacement_attempts == 0)),
            ),
        )

    @classmethod
    def list_with_policies(cls, context: RequestContext) -> list[Self]:
        """Return the groups that may have holds and that have policies."""
        has_holds = models.Group.status.in_(states.GROUP_WITH_HOLDS)
        return cls._list(context, has_holds, sql_conditions.has_policy())

    @classmethod
    def has_policies(cls, context: RequestContext, uuid: str) -> bool:
        """Check whether a group has any policy."""
        is_group = models.Group.uuid == uuid
        has_policy = sql_conditions.has_policy()
        return bool(db.count(context, models.Group, is_group, has_policy))

    @classmethod
    def list_exclusive(cls, context: RequestContext) -> list[Self]:
        """Return the groups that have, or should have, exclusive hosts.

        Some of them have only a soft policy, or only placeholders to release.
        """
        has_placeholders = sa.exists().where(
            models.Hold.group_id == models.Group.id,
            sql_conditions.is_placeholder(),
            models.Hold.status == states.Hold.HELD,
        )
        has_holds = models.Group.status.in_(states.GROUP_WITH_HOLDS)
        return cls._list(
            context,
            has_placeholders
            | (has_holds & sql_conditions.has_exclusive_policy()),
        )

    @classmethod
    def list_releasing(
        cls, context: RequestContext, revised: Self | None = None
    ) -> list[Self]:
        """Return groups in state RELEASING, whose rows still exist.

        :param revised: group, for only its drafts; all groups by default
        """
        conditions = [models.Group.status == states.Group.RELEASING]
        if revised is not None:
            conditions.append(models.Group.revises_id == revised.id)
        return cls._list(context, *conditions)

    @classmethod
    def list_abandoned(cls, context: RequestContext) -> list[Self]:
        """Return the groups abandoned by a planner, without their parts.

        These groups have a lease that has ended, or unfinished holds that are
        old and no lease. Drafts are not included.
        """
        has_open_holds = sa.exists().where(
            models.Hold.group_id == models.Group.id,
            models.Hold.status.in_(states.HOLD_OPEN),
            sql_conditions.is_unchanged_since(clock.now(-ABANDONED_AFTER)),
        )
        return cls._list_unleased(
            context, has_open_holds | VRTLease.is_abandoned(models.Group)
        )

    @classmethod
    def list_to_plan(cls, context: RequestContext) -> list[Self]:
        """Return the groups that wait for planning, without their parts.

        A group waits when it, or its draft, is PLANNING, or when servers wait
        for hosts, and no planner has its lease. Drafts are not included.
        """
        draft = orm.aliased(models.Group)
        has_planning_draft = sa.exists().where(
            draft.revises_id == models.Group.id,
            draft.status == states.Group.PLANNING,
        )
        is_planning = models.Group.status == states.Group.PLANNING
        has_creates = sa.exists().where(
            models.Create.group_id == models.Group.id,
            models.Create.status == states.Create.OPEN,
            models.Create.ends_at > clock.now(),
        )
        return cls._list_unleased(
            context, is_planning | has_planning_draft | has_creates
        )

    @classmethod
    def _list_unleased(
        cls, context: RequestContext, condition: Condition
    ) -> list[Self]:
        """Return groups that meet a condition and have no running lease."""
        return cls.list_rows(
            context,
            models.Group.revises_id.is_(None),
            ~VRTLease.is_leased(models.Group),
            condition,
        )

    @staticmethod
    def count_planning(context: RequestContext, project_id: str) -> int:
        """Return the number of a project's groups and drafts in PLANNING."""
        return db.count(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.status == states.Group.PLANNING,
        )

    @staticmethod
    def is_redeemable(context: RequestContext, group_id: int) -> bool:
        """Check whether a group may have holds and has not expired."""
        may_have_holds = sql_conditions.may_have_holds(group_id)
        is_valid = (*may_have_holds, ~models.Group.has_expired)
        return bool(db.count(context, models.Group, *is_valid))

    @staticmethod
    def uuids(context: RequestContext) -> dict[int, str]:
        """Return {id: uuid} of all groups in any state."""
        return {row.id: row.uuid for row in db.find(context, models.Group)}

    @staticmethod
    def find_binding_draft(
        context: RequestContext, group_id: int
    ) -> str | None:
        """Return the uuid of a draft that checks include, see mark_binding().

        None without one: a swap that changes no definition has no draft.
        """
        row = db.find_one(
            context,
            models.Group,
            models.Group.revises_id == group_id,
            models.Group.is_binding,
        )
        return row and row.uuid

# SPDX-License-Identifier: Apache-2.0
"""Queries for the groups that planners work on."""

from collections.abc import Collection
import typing
from typing import Any
from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import member_queries
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.lease import VRTLease

# Seconds after which no process without a lease can still be working
ABANDONED_AFTER = 120


class GroupState(typing.NamedTuple):
    """State of a group that redeems depend on.

    :ivar has_expired: whether its holds can be redeemed no more
    :ivar binding_draft: uuid of the draft that checks include, or None; see
        GroupChanges.mark_binding()
    :ivar have_members: whether any of the given servers has a member
    """

    id: int
    uuid: str
    status: str
    has_expired: bool
    definition_generation: int
    has_policies: bool
    binding_draft: str | None
    have_members: bool

    @property
    def may_have_holds(self) -> bool:
        """True unless the group is being deleted, or never had a hold."""
        return self.status in states.GROUP_WITH_HOLDS


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

    @staticmethod
    def list_for_drift(context: RequestContext) -> list[sa.Row[Any]]:
        """Return rows of the groups with policies that may have holds.

        :returns: rows of (id, uuid, generation, drift)
        """
        group = models.Group
        columns = group.id, group.uuid, group.generation, group.drift
        has_holds = group.status.in_(states.GROUP_WITH_HOLDS)
        return db.find_columns(
            context, columns, group, has_holds, sql_conditions.has_policy()
        )

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
    def find_state(
        context: RequestContext,
        group_id: int,
        servers: Collection[str] = (),
    ) -> GroupState | None:
        """Return the GroupState of a group by one query, or None.

        :param servers: uuids
        """
        group, draft = models.Group, orm.aliased(models.Group)
        binding_draft = sa.select(sa.func.min(draft.uuid)).where(
            draft.revises_id == group.id, draft.is_binding
        )
        columns = (
            *(group.id, group.uuid, group.status, group.has_expired),
            *(group.definition_generation, sql_conditions.has_policy()),
            binding_draft.scalar_subquery(),
            member_queries.have_members(servers) if servers else sa.false(),
        )
        rows = db.find_columns(context, columns, group, group.id == group_id)
        return GroupState(*rows[0]) if rows else None

    @classmethod
    def is_redeemable(cls, context: RequestContext, group_id: int) -> bool:
        """Check whether a group may have holds and has not expired."""
        state = cls.find_state(context, group_id)
        return bool(state and state.may_have_holds and not state.has_expired)

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

# SPDX-License-Identifier: Apache-2.0
"""Queries for groups that planners have to work on."""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states
from nova_groupext.objects.lease import VRTLease

# Seconds after which no process without a lease can still be working
LONG_AGO = 120


class GroupSearch:
    """The part of VRTGroup that finds groups by pending work."""

    @classmethod
    def drafts_of(cls, context, group_ids):
        """Return {group id: its draft} of the groups that have one."""
        drafts = cls._find(
            context,
            models.Group.revises_id.in_(group_ids),
            models.Group.status != states.Group.RELEASING,
        )
        return {draft.revises_id: draft for draft in drafts}

    @classmethod
    def list_expired(cls, context):
        """Return the groups that have expired and still hold capacity."""
        return cls._find(
            context,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            models.Group.expires_at <= clock.now(),
            conditions.has_member(states.Member.HELD)
            | conditions.has_resize_reservation(),
        )

    @classmethod
    def list_held_long(cls, context, lifetime):
        """Return the groups with a hold older than the maximum lifetime.

        :param lifetime: seconds
        """
        before = clock.now(-lifetime)
        is_over = conditions.is_held_since(before) | (
            conditions.is_resizing() & (models.Member.growth_since <= before)
        )
        return cls._find(
            context,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            sa.exists().where(
                models.Member.group_id == models.Group.id, is_over
            ),
        )

    @classmethod
    def list_with_failed(cls, context, most):
        """Return the groups with failed members that may be placed again.

        :param most: maximum number of automatic replacements of a member; one
            is always allowed if a swap has lost its hold
        """
        is_lost = sa.exists().where(
            models.Hold.member_id == models.Member.id, conditions.is_lost()
        )
        return cls._find(
            context,
            models.Group.revises_id.is_(None),
            models.Group.status.in_(states.GROUP_REPLACEABLE),
            models.Group.expires_at > clock.now(),
            sa.exists().where(
                models.Member.group_id == models.Group.id,
                models.Member.status == states.Member.FAILED,
                (models.Member.replacement_attempts < most)
                | (is_lost & (models.Member.replacement_attempts == 0)),
            ),
        )

    @classmethod
    def list_with_policies(cls, context):
        """Return the groups that may have holds and that have policies."""
        holds = models.Group.status.in_(states.GROUP_WITH_HOLDS)
        return cls._find(context, holds, conditions.has_policy())

    @classmethod
    def has_policies(cls, context, uuid):
        """Check whether a group has any policy."""
        own = models.Group.uuid == uuid
        return bool(
            db.count(context, models.Group, own, conditions.has_policy())
        )

    @classmethod
    def list_exclusive(cls, context):
        """Return the groups that have, or should have, exclusive hosts.

        Some of them have only a soft policy, or only placeholders to release.
        """
        has_fillers = sa.exists().where(
            models.Hold.group_id == models.Group.id,
            conditions.is_placeholder(),
            models.Hold.status == states.Hold.HELD,
        )
        holds = models.Group.status.in_(states.GROUP_WITH_HOLDS)
        return cls._find(
            context, has_fillers | (holds & conditions.has_policy('exclusive'))
        )

    @classmethod
    def list_releasing(cls, context, of=None):
        """Return groups in state RELEASING, whose rows still exist.

        :param of: VRTGroup whose drafts are wanted; all groups by default
        """
        is_of = () if of is None else (models.Group.revises_id == of.id,)
        return cls._find(
            context, models.Group.status == states.Group.RELEASING, *is_of
        )

    @classmethod
    def list_left(cls, context):
        """Return the groups abandoned by a planner, without their parts.

        These groups have a lease that has ended, or unfinished holds that are
        old and no lease. Drafts are not included.
        """
        is_begun = sa.exists().where(
            models.Hold.group_id == models.Group.id,
            models.Hold.status.in_(states.HOLD_OPEN),
            conditions.in_its_state_since(clock.now(-LONG_AGO)),
        )
        return cls._idle(context, is_begun | VRTLease.is_left(models.Group))

    @classmethod
    def list_to_plan(cls, context):
        """Return the groups that wait for planning, without their parts.

        A group waits when it, or its draft, is PLANNING and no planner has its
        lease. Drafts are not included.
        """
        draft = orm.aliased(models.Group)
        has_planning_draft = sa.exists().where(
            draft.revises_id == models.Group.id,
            draft.status == states.Group.PLANNING,
        )
        is_planning = models.Group.status == states.Group.PLANNING
        return cls._idle(context, is_planning | has_planning_draft)

    @classmethod
    def _idle(cls, context, condition):
        """Return groups that meet a condition and have no running lease."""
        return cls.list_brief(
            context,
            models.Group.revises_id.is_(None),
            ~VRTLease.is_leased(models.Group),
            condition,
        )

    @classmethod
    def list_brief(cls, context, *conditions):
        """Return the groups that meet conditions, without their parts."""
        rows = db.find(context, models.Group, *conditions)
        return [cls.from_row(context, row) for row in rows]

    @staticmethod
    def count_planning(context, project_id):
        """Return the number of a project's groups and drafts in PLANNING."""
        return db.count(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.status == states.Group.PLANNING,
        )

    @staticmethod
    def is_current(context, group_id):
        """Check whether a group may have holds and has not expired."""
        return bool(
            db.count(
                context,
                models.Group,
                *conditions.still(group_id),
                ~models.Group.has_expired,
            )
        )

    @staticmethod
    def uuids(context):
        """Return {id: uuid} of all groups in any state."""
        return {row.id: row.uuid for row in db.find(context, models.Group)}

    @staticmethod
    def prepared_draft(context, group_id):
        """Return the uuid of the draft of a group whose swap is prepared.

        None without one: a swap that changes no definition has no draft.
        """
        row = db.find_one(
            context,
            models.Group,
            models.Group.revises_id == group_id,
            models.Group.is_prepared,
        )
        return row and row.uuid

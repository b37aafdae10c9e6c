# SPDX-License-Identifier: Apache-2.0
"""Queries for holds."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Time
from nova_groupext.objects import reservation_queries
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.lease import VRTLease

# Conditions that a hold belongs to a member in state HELD
_HELD_MEMBER = (
    models.Hold.status == states.Hold.HELD,
    models.Hold.member_id == models.Member.id,
    models.Member.status == states.Member.HELD,
)


class HoldQueries(reservation_queries.ReservationQueries):
    """The part of VRTHold that finds holds by owner and state."""

    @classmethod
    def list_by_group(
        cls, context: RequestContext, group_id: int, *statuses: states.Hold
    ) -> list[Self]:
        """Return a group's holds in some states, by default not RELEASED."""
        return cls.list_rows(
            context,
            models.Hold.group_id == group_id,
            models.Hold.status.in_(statuses or states.HOLD_HAS_NOT_ENDED),
        )

    @staticmethod
    def list_group_locations(
        context: RequestContext, group_id: int
    ) -> list[sa.Row[Any]]:
        """Return where the committed holds of a group are.

        Only these columns are read, as a redeem asks this with the group's row
        locked.

        :returns: rows with ``member_id``, ``resize_member_id``, ``host``,
            ``node`` and ``status``
        """
        hold = models.Hold
        columns = [
            *(hold.member_id, hold.resize_member_id),
            *(hold.host, hold.node, hold.status),
        ]
        return db.find_columns(
            context,
            columns,
            hold,
            hold.group_id == group_id,
            hold.status.in_(states.HOLD_COMMITTED),
        )

    @classmethod
    def list_open(cls, context: RequestContext, group_id: int) -> list[Self]:
        """Return the holds of an unfinished swap or plan of a group.

        :returns: holds of the group and its drafts: WRITING or EXCHANGING,
            those that leave, and those of servers being adopted
        """
        return cls.list_rows(
            context,
            _is_of(group_id),
            models.Hold.status.in_(states.HOLD_OPEN)
            | models.Hold.ends_with_swap
            | sql_conditions.is_adopted(),
        )

    @classmethod
    def list_with_capacity(
        cls, context: RequestContext, group_id: int
    ) -> list[Self]:
        """Return the committed holds of a group, and the RELEASING ones.

        :returns: holds, also of its drafts
        """
        return cls.list_rows(
            context,
            _is_of(group_id),
            models.Hold.status.in_(
                (*states.HOLD_COMMITTED, states.Hold.RELEASING)
            ),
        )

    @classmethod
    def list_on_provider(
        cls, context: RequestContext, group_id: int, provider_uuid: str
    ) -> list[Self]:
        """Return the holds of a group and its drafts on a provider."""
        return cls.list_rows(
            context,
            _is_of(group_id),
            models.Hold.provider_uuid == provider_uuid,
            models.Hold.status.in_(states.HOLD_HAS_NOT_ENDED),
        )

    @classmethod
    def list_to_release(cls, context: RequestContext) -> list[Self]:
        """Return the RELEASING holds that no placeholder may replace.

        In a group with an exclusive policy only the owner of its lease
        releases capacity, because placeholders may take it over.
        """
        has_exclusive_hosts = sa.exists().where(
            models.Group.id == models.Hold.group_id,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            sql_conditions.has_exclusive_policy(),
        )
        is_releasing = models.Hold.status == states.Hold.RELEASING
        return cls.list_rows(context, is_releasing, ~has_exclusive_hosts)

    @classmethod
    def redeemable_by_member(
        cls, context: RequestContext, member_ids: Collection[int]
    ) -> dict[int, Self]:
        """Return {member id: its HELD hold}, unless a swap may end it."""
        holds = cls.list_rows(
            context,
            models.Hold.member_id.in_(member_ids),
            models.Hold.status == states.Hold.HELD,
            sql_conditions.stays_after_swap(),
        )
        return {hold.member_id: hold for hold in holds}

    @classmethod
    def list_due_checks(cls, context: RequestContext) -> list[Self]:
        """Return the watched holds whose next check is due."""
        return cls.list_rows(context, sa.or_(*watched_holds.is_due()))

    @classmethod
    def lost_members(cls, context: RequestContext, group_id: int) -> set[int]:
        """Return the ids of a group's members whose hold a swap has lost."""
        holds = cls.list_rows(
            context, models.Hold.group_id == group_id, sql_conditions.is_lost()
        )
        return {hold.member_id for hold in holds}

    @classmethod
    def has_ended(cls, context: RequestContext, uuid: str) -> bool:
        """Check whether a uuid belongs to a RELEASED hold."""
        has_ended = models.Hold.status == states.Hold.RELEASED
        return bool(
            cls.list_rows(context, models.Hold.uuid == uuid, has_ended)
        )

    @classmethod
    def list_by_status(
        cls, context: RequestContext, *statuses: states.Hold
    ) -> list[Self]:
        return cls.list_rows(context, models.Hold.status.in_(statuses))

    @staticmethod
    def held_allocations(
        context: RequestContext,
    ) -> list[sa.Row[Any]]:
        """Return [(allocations,)] of all HELD holds."""
        is_held = models.Hold.status == states.Hold.HELD
        return db.find_columns(
            context, (models.Hold.allocations,), models.Hold, is_held
        )

    @staticmethod
    def allocations_of_held_members(
        context: RequestContext,
    ) -> list[sa.Row[Any]]:
        """Return [(hold id, allocations)] of the holds of HELD members.

        Placeholders and reservations have none. Members that are being
        redeemed are left out: their holds may already be their servers'.
        """
        columns = models.Hold.id, models.Hold.allocations
        return db.find_columns(context, columns, models.Hold, *_HELD_MEMBER)

    @staticmethod
    def list_locations(context: RequestContext) -> list[sa.Row[Any]]:
        """Return the hosts of all committed holds.

        :returns: rows of (group_id, member_id, resize_member_id, status, host,
            node)
        """
        hold = models.Hold
        columns = (
            *(hold.group_id, hold.member_id, hold.resize_member_id),
            *(hold.status, hold.host, hold.node),
        )
        is_committed = hold.status.in_(states.HOLD_COMMITTED)
        return db.find_columns(context, columns, hold, is_committed)

    @staticmethod
    def nodes_of_held_members(context: RequestContext) -> set[tuple[str, str]]:
        """Return {(host, compute node's uuid)} of HELD members' holds."""
        columns = models.Hold.host, models.Hold.provider_uuid
        rows = db.find_columns(context, columns, models.Hold, *_HELD_MEMBER)
        return {(host, uuid) for host, uuid in rows}

    @classmethod
    def list_of_held_members(
        cls, context: RequestContext, *conditions: Condition
    ) -> list[Self]:
        """Return those holds of HELD members that meet conditions."""
        return cls.list_rows(context, *_HELD_MEMBER, *conditions)

    @staticmethod
    def count(context: RequestContext, *statuses: states.Hold) -> int:
        return db.count(context, models.Hold, models.Hold.status.in_(statuses))

    @classmethod
    def list_by_uuids(
        cls, context: RequestContext, uuids: Iterable[str]
    ) -> list[Self]:
        return cls.list_rows(context, models.Hold.uuid.in_(list(uuids)))

    @classmethod
    def refresh(
        cls, context: RequestContext, holds: Sequence[Self]
    ) -> list[Self]:
        """Return holds as they are now; deleted ones are left unchanged."""
        uuids = [hold.uuid for hold in holds]
        current = {
            hold.uuid: hold for hold in cls.list_by_uuids(context, uuids)
        }
        return [current.get(hold.uuid, hold) for hold in holds]

    @classmethod
    def in_status(
        cls,
        context: RequestContext,
        holds: Iterable[Self],
        status: states.Hold,
    ) -> list[Self]:
        """Return those of some holds that have a status now."""
        return cls.list_rows(
            context,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == status,
        )

    @classmethod
    def list_placeholders(
        cls, context: RequestContext, group_id: int, provider_uuid: str
    ) -> list[Self]:
        """Return the placeholders that a group has on a provider."""
        return cls.list_rows(
            context,
            models.Hold.group_id == group_id,
            models.Hold.provider_uuid == provider_uuid,
            sql_conditions.is_placeholder(),
            models.Hold.status == states.Hold.HELD,
        )

    @classmethod
    def list_unfinished(
        cls, context: RequestContext, before: Time
    ) -> list[Self]:
        """Return open holds older than a time whose group has no lease."""
        group = orm.aliased(models.Group)
        has_lease = sa.exists().where(
            group.id == models.Hold.group_id, VRTLease.is_leased(group)
        )
        return cls.list_rows(
            context,
            models.Hold.status.in_(states.HOLD_OPEN),
            sql_conditions.is_unchanged_since(before),
            ~has_lease,
        )

    @classmethod
    def redeemed_by_member(
        cls, context: RequestContext, member_ids: Collection[int]
    ) -> dict[int, Self]:
        """Return {member id: the hold that its server has redeemed}."""
        holds = cls.list_rows(
            context,
            models.Hold.member_id.in_(member_ids),
            models.Hold.status == states.Hold.REDEEMED,
        )
        return {hold.member_id: hold for hold in holds}

    @classmethod
    def find_by_member(
        cls, context: RequestContext, member_id: int
    ) -> Self | None:
        """Return the committed hold of a member, or None."""
        return cls.find_row(
            context,
            models.Hold.member_id == member_id,
            models.Hold.status.in_(states.HOLD_COMMITTED),
        )


def _is_of(group_id: int) -> Condition:
    """Return the condition that a hold belongs to a group or its drafts."""
    drafts = sa.select(models.Group.id).where(
        models.Group.revises_id == group_id
    )
    return (models.Hold.group_id == group_id) | models.Hold.group_id.in_(
        drafts
    )

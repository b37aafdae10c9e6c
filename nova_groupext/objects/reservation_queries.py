# SPDX-License-Identifier: Apache-2.0
"""Queries for resize reservations."""

from collections.abc import Collection
from typing import Self

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states


class ReservationQueries(base.VRTObject):
    """The part of VRTHold that finds reservations of members with servers."""

    MODEL = models.Hold

    @classmethod
    def list_reservations(cls, context: RequestContext) -> list[Self]:
        """Return all holds that are kept for resizes or unshelves."""
        return cls.list_rows(context, sql_conditions.is_resize_reservation())

    @classmethod
    def list_left_reservations(
        cls, context: RequestContext, seconds: int
    ) -> list[Self]:
        """Return the reservations that no process works on any more.

        These are REDEEMING for more than some seconds; or REDEEMED, and their
        servers are no members' any more: they have ended before they rested on
        their new hosts.
        """
        is_running = sa.exists().where(
            models.Member.id == models.Hold.resize_member_id,
            models.Member.server_uuid == models.Hold.server_uuid,
            models.Member.status.in_(states.MEMBER_SERVER_RUNS),
        )
        is_overdue = (models.Hold.status == states.Hold.REDEEMING) & (
            models.Hold.updated_at < clock.now(-seconds)
        )
        has_ended = (models.Hold.status == states.Hold.REDEEMED) & ~is_running
        return cls.list_rows(
            context,
            models.Hold.resize_member_id.is_not(None),
            is_overdue | has_ended,
        )

    @classmethod
    def list_unused_unshelves(
        cls, context: RequestContext, seconds: int
    ) -> list[Self]:
        """Return old reservations of servers that are still shelved.

        :param seconds: minimum age
        """
        return cls.list_rows(
            context,
            sql_conditions.is_resize_reservation(),
            sql_conditions.is_unchanged_since(clock.now(-seconds)),
            models.Hold.resize_member_id == models.Member.id,
            models.Member.status == states.Member.SHELVED,
        )

    @classmethod
    def reservations_by_member(
        cls, context: RequestContext, group_ids: Collection[int]
    ) -> dict[int, Self]:
        """Return {member id: reservation for a resize of its server}."""
        reservations = cls.list_rows(
            context,
            sql_conditions.is_resize_reservation(),
            models.Hold.group_id.in_(group_ids),
        )
        return {
            reservation.resize_member_id: reservation
            for reservation in reservations
        }

    @classmethod
    def find_reservation(
        cls, context: RequestContext, server_uuid: str
    ) -> Self | None:
        """Return the reservation to resize or unshelve a server, or None."""
        return cls.find_row(
            context,
            sql_conditions.is_resize_reservation()
            | (
                models.Hold.resize_member_id.is_not(None)
                & (models.Hold.status == states.Hold.REDEEMING)
                & (models.Hold.server_uuid == server_uuid)
            ),
            models.Hold.resize_member_id == models.Member.id,
            models.Member.server_uuid == server_uuid,
            models.Member.status.in_(states.MEMBER_SERVER_RUNS),
        )

    @classmethod
    def moved_members(
        cls, context: RequestContext, member_ids: Collection[int]
    ) -> set[int]:
        """Return the ids of those members with a redeemed reservation."""
        reservations = cls.list_rows(
            context,
            models.Hold.resize_member_id.in_(member_ids),
            models.Hold.status == states.Hold.REDEEMED,
        )
        return {each.resize_member_id for each in reservations}

# SPDX-License-Identifier: Apache-2.0
"""What is looked for among all holds."""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import states
from nova_groupext.objects.lease import VRTLease

# Seconds after which one looks whether a request has come late.
WATCHES = (120, 600, 3600, 86400)


class HoldSearch:
    """The part of VRTHold that finds them by owner and state."""

    @classmethod
    def _list(cls, context, *conditions):
        rows = db.find(context, models.Hold, *conditions)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_by_group(cls, context, group_id, *statuses):
        """Return the holds of a group, or those in some states."""
        return cls._list(
            context,
            models.Hold.group_id == group_id,
            models.Hold.status.in_(statuses or states.LIVING),
        )

    @classmethod
    def list_open(cls, context, group_id):
        """Return what a swap, or a plan, of a group or its draft has begun.

        :returns: VRTHolds in WRITING or EXCHANGING, those that leave, and
            those of servers that are adopted
        """
        return cls._list(
            context,
            _is_of(group_id),
            models.Hold.status.in_(states.OPEN)
            | models.Hold.leaves
            | conditions.is_adopted(),
        )

    @classmethod
    def list_kept(cls, context, group_id):
        """Return what is promised of a group, and what ends of it.

        :returns: VRTHolds, also of its drafts
        """
        return cls._list(
            context,
            _is_of(group_id),
            models.Hold.status.in_((*states.PROMISED, states.Hold.RELEASING)),
        )

    @classmethod
    def list_on(cls, context, group_id, provider_uuid):
        """Return the holds that a group and its drafts have on a provider."""
        return cls._list(
            context,
            _is_of(group_id),
            models.Hold.provider_uuid == provider_uuid,
            models.Hold.status.in_(states.LIVING),
        )

    @classmethod
    def list_to_empty(cls, context):
        """Return what ends, but for what is exchanged for fillers.

        Of a group that may have hosts to itself only who has its lease gives
        something back.
        """
        keeps = sa.exists().where(
            models.Group.id == models.Hold.group_id,
            models.Group.status.in_(states.HOLDS),
            conditions.has_policy('exclusive'),
        )
        is_releasing = models.Hold.status == states.Hold.RELEASING
        return cls._list(context, is_releasing, ~keeps)

    @classmethod
    def changing(cls, context, member_ids):
        """Return the ids of those members whose holds a swap may end."""
        found = cls._list(
            context,
            models.Hold.member_id.in_(member_ids),
            (models.Hold.status == states.Hold.EXCHANGING)
            | models.Hold.leaves,
        )
        return {hold.member_id for hold in found}

    @classmethod
    def list_to_watch(cls, context):
        """Return the holds at which it is time to look."""
        due = [
            (models.Hold.looks == number)
            & (models.Hold.watched_at < clock.now(-seconds))
            for number, seconds in enumerate(WATCHES)
        ]
        return cls._list(context, sa.or_(*due))

    @classmethod
    def lost_members(cls, context, group_id):
        """Return the ids of a group's members whose hold a swap has lost."""
        found = cls._list(
            context, models.Hold.group_id == group_id, conditions.is_lost()
        )
        return {hold.member_id for hold in found}

    @classmethod
    def has_ended(cls, context, uuid):
        """Check whether a uuid was that of a hold which has ended."""
        ended = models.Hold.status == states.Hold.RELEASED
        return bool(cls._list(context, models.Hold.uuid == uuid, ended))

    @classmethod
    def list_by_status(cls, context, *statuses):
        return cls._list(context, models.Hold.status.in_(statuses))

    @staticmethod
    def count(context, *statuses):
        return db.count(context, models.Hold, models.Hold.status.in_(statuses))

    @classmethod
    def list_by_uuids(cls, context, uuids):
        return cls._list(context, models.Hold.uuid.in_(list(uuids)))

    @classmethod
    def renewed(cls, context, holds):
        """Return holds as they are now; those that are forgotten as given."""
        uuids = [hold.uuid for hold in holds]
        now = {hold.uuid: hold for hold in cls.list_by_uuids(context, uuids)}
        return [now.get(hold.uuid, hold) for hold in holds]

    @classmethod
    def still(cls, context, holds, status):
        """Return those of some holds that are in a state now."""
        return cls._list(
            context,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == status,
        )

    @classmethod
    def list_fillers(cls, context, group_id, provider_uuid):
        """Return the fillers that a group has on a provider."""
        return cls._list(
            context,
            models.Hold.group_id == group_id,
            models.Hold.provider_uuid == provider_uuid,
            conditions.is_filler(),
            models.Hold.status == states.Hold.HELD,
        )

    @classmethod
    def list_growths(cls, context):
        """Return all that is held for resizes."""
        return cls._list(context, conditions.is_growth())

    @classmethod
    def list_growths_redeeming(cls, context, seconds):
        """Return the growths that have been redeeming for so long."""
        return cls._list(
            context,
            models.Hold.grows_id.is_not(None),
            models.Hold.status == states.Hold.REDEEMING,
            models.Hold.updated_at < clock.now(-seconds),
        )

    @classmethod
    def growths_of(cls, context, group_ids):
        """Return {member id: what is held for the resize of its server}."""
        found = cls._list(
            context,
            conditions.is_growth(),
            models.Hold.group_id.in_(group_ids),
        )
        return {growth.grows_id: growth for growth in found}

    @classmethod
    def get_growth(cls, context, server_uuid):
        """Return what is held for the resize of a server, or None."""
        row = db.find_one(
            context,
            models.Hold,
            conditions.is_growth()
            | (
                models.Hold.grows_id.is_not(None)
                & (models.Hold.status == states.Hold.REDEEMING)
                & (models.Hold.server_uuid == server_uuid)
            ),
            models.Hold.grows_id == models.Member.id,
            models.Member.server_uuid == server_uuid,
            models.Member.status == states.Member.ACTIVE,
        )
        return cls.from_row(context, row) if row else None

    @classmethod
    def list_unfinished(cls, context, before):
        """Return what was begun before a time, and nobody works on."""
        group = orm.aliased(models.Group)
        is_worked_on = sa.exists().where(
            group.id == models.Hold.group_id, VRTLease.is_leased(group)
        )
        return cls._list(
            context,
            models.Hold.status.in_(states.OPEN),
            conditions.in_its_state_since(before),
            ~is_worked_on,
        )

    @classmethod
    def redeemed_by(cls, context, member_ids):
        """Return {member id: the hold that its server has redeemed}."""
        redeemed = cls._list(
            context,
            models.Hold.member_id.in_(member_ids),
            models.Hold.status == states.Hold.REDEEMED,
        )
        return {hold.member_id: hold for hold in redeemed}

    @classmethod
    def get_by_member(cls, context, member_id):
        """Return the one hold that a member was promised, or None."""
        row = db.find_one(
            context,
            models.Hold,
            models.Hold.member_id == member_id,
            models.Hold.status.in_(states.PROMISED),
        )
        return cls.from_row(context, row) if row else None


def _is_of(group_id):
    """The condition on a hold that a group has it, or a draft of that."""
    drafts = sa.select(models.Group.id).where(
        models.Group.revises_id == group_id
    )
    return (models.Hold.group_id == group_id) | models.Hold.group_id.in_(
        drafts
    )

# SPDX-License-Identifier: Apache-2.0
"""Conditions on groups and holds that several statements have."""

import sqlalchemy as sa

from nova_groupext.db import models
from nova_groupext.objects import states


def has_member(*statuses):
    """The condition on a group that some member of it has such a status."""
    return sa.exists().where(
        models.Member.group_id == models.Group.id,
        models.Member.status.in_(statuses),
    )


def has_hold(*statuses):
    """The condition on a group that some hold of it has such a status."""
    return sa.exists().where(
        models.Hold.group_id == models.Group.id,
        models.Hold.status.in_(statuses),
    )


def has_growth():
    """The condition on a group that something is held for a resize."""
    return sa.exists().where(
        models.Hold.group_id == models.Group.id, is_growth()
    )


def is_growing():
    """The condition on a member that something is held for a resize."""
    return sa.exists().where(
        models.Hold.grows_id == models.Member.id, is_growth()
    )


def is_held_since(time):
    """The condition on a member that it is held for long.

    :param time: before which that has begun
    """
    is_held = models.Member.status == states.Member.HELD
    return is_held & (models.Member.held_since <= time)


def still(group_id, statuses=states.HOLDS):
    """The conditions on a group of which something may be held."""
    return (
        models.Group.id == group_id,
        models.Group.status.in_(statuses),
    )


def has_policy(*kinds):
    """The condition on a group to have a policy, of any or of some kinds."""
    found = sa.exists().where(models.Policy.group_id == models.Group.id)
    return found.where(models.Policy.type.in_(kinds)) if kinds else found


def is_filler():
    """The condition on a hold that it is nobody's."""
    return models.Hold.member_id.is_(None) & models.Hold.grows_id.is_(None)


def is_growth():
    """The condition on a hold that it is promised to a server's resize."""
    return models.Hold.grows_id.is_not(None) & (
        models.Hold.status == states.Hold.HELD
    )


def is_lost():
    """The condition on a hold that a swap has lost it, with its capacity."""
    return (
        models.Hold.lost
        & models.Hold.server_uuid.is_(None)
        & (models.Hold.status == states.Hold.RELEASED)
    )


def is_adopted():
    """The condition on a hold that its server is being adopted.

    Whether it is that for good is decided with the swap under way.
    """
    is_open = models.Hold.otherwise.is_not(sa.null())
    return is_open & (models.Hold.status == states.Hold.REDEEMED)


def in_its_state_since(time):
    """The condition on a hold that it is what it is for long.

    :param time: before which it has become that
    """
    hold = models.Hold
    return sa.func.coalesce(hold.updated_at, hold.created_at) < time

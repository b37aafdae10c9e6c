# SPDX-License-Identifier: Apache-2.0
"""SQL conditions on groups, members and holds that queries share."""

import sqlalchemy as sa

from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Time
from nova_groupext.objects import states
from nova_groupext.solver.policies import registry


def has_member(*statuses: str) -> Condition:
    """Return the condition that a group has a member in such a status."""
    return sa.exists().where(
        models.Member.group_id == models.Group.id,
        models.Member.status.in_(statuses),
    )


def has_hold(*statuses: states.Hold) -> Condition:
    """Return the condition that a group has a hold in such a status."""
    return sa.exists().where(
        models.Hold.group_id == models.Group.id,
        models.Hold.status.in_(statuses),
    )


def has_member_in_swap() -> Condition:
    """Return the condition that a swap exchanges holds of a group's members.

    Between its prepare and its commit these members keep their state.
    """
    return sa.exists().where(
        models.Hold.group_id == models.Group.id,
        models.Hold.status == states.Hold.EXCHANGING,
        models.Hold.member_id.is_not(None),
    )


def has_resize_reservation() -> Condition:
    """Return the condition that a group has an ACTIVE member's reservation."""
    return sa.exists().where(
        models.Hold.group_id == models.Group.id,
        is_resize_reservation(),
        models.Hold.resize_member_id == models.Member.id,
        models.Member.status == states.Member.ACTIVE,
    )


def is_resizing() -> Condition:
    """Return the condition that an ACTIVE member has a reservation."""
    is_active = models.Member.status == states.Member.ACTIVE
    return is_active & sa.exists().where(
        models.Hold.resize_member_id == models.Member.id,
        is_resize_reservation(),
    )


def is_held_since(time: Time) -> Condition:
    """Return the condition that a member is held since before a time.

    :param time: latest start of the hold
    """
    is_held = models.Member.status == states.Member.HELD
    return is_held & (models.Member.held_since <= time)


def may_have_holds(group_id: int) -> tuple[Condition, ...]:
    """Return the conditions that a group exists and may have holds."""
    return (
        models.Group.id == group_id,
        models.Group.status.in_(states.GROUP_WITH_HOLDS),
    )


def has_generation(generation: int | None) -> tuple[Condition, ...]:
    """Return the conditions that a group still has a definition.

    :param generation: expected generation of the definition; None for any
    """
    if generation is None:
        return ()
    return (models.Group.definition_generation == generation,)


def has_policy(*kinds: str) -> Condition:
    """Return the condition that a group has a policy of some kinds, or any."""
    exists = sa.exists().where(models.Policy.group_id == models.Group.id)
    return exists.where(models.Policy.type.in_(kinds)) if kinds else exists


def has_exclusive_policy() -> Condition:
    """Return the condition that a group has an exclusive policy."""
    return sa.exists().where(
        models.Policy.group_id == models.Group.id,
        models.Policy.type.in_(registry.exclusive_types()),
    )


def is_placeholder() -> Condition:
    """Return the condition that a hold is a placeholder."""
    return models.Hold.member_id.is_(None) & models.Hold.resize_member_id.is_(
        None
    )


def is_resize_reservation() -> Condition:
    """Return the condition that a hold is kept for a resize or unshelve."""
    return models.Hold.resize_member_id.is_not(None) & (
        models.Hold.status == states.Hold.HELD
    )


def is_lost() -> Condition:
    """Return the condition that a swap has lost the hold and its capacity."""
    return (
        models.Hold.lost
        & models.Hold.server_uuid.is_(None)
        & (models.Hold.status == states.Hold.RELEASED)
    )


def is_adopted() -> Condition:
    """Return the condition that the server of a hold is being adopted.

    The swap in progress decides whether the adoption takes effect.
    """
    is_open = models.Hold.if_compensated.is_not(sa.null())
    return is_open & (models.Hold.status == states.Hold.REDEEMED)


def stays_after_swap() -> Condition:
    """Return the condition that the swap in progress does not end a hold.

    The ORM evaluates a comparison in memory when it updates rows. It would
    read the rows first for a negation.
    """
    return models.Hold.ends_with_swap == sa.false()


def is_unchanged_since(time: Time) -> Condition:
    """Return the condition that a hold has not changed since a time.

    :param time: latest time of the change to its state
    """
    hold = models.Hold
    return sa.func.coalesce(hold.updated_at, hold.created_at) < time

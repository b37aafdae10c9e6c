# SPDX-License-Identifier: Apache-2.0
"""Changes of a group together with its members and their holds.

Each is one transaction, which updates the group's row before it reads or
changes anything else. This locks the row in every database, with three
results: changes of one group are serialised, other transactions never see a
member without its committed hold, and the status of a group with holds always
follows from its members.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import datetime
from typing import Any

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember

# Values of a member that becomes HELD, from any state
_HELD = {
    'status': states.Member.HELD,
    'server_uuid': None,
    'server_request': None,
    'reserved_for': sa.case(
        (
            models.Member.status == states.Member.HELD,
            models.Member.reserved_for,
        )
    ),
    'fault': None,
    'held_since': sa.func.coalesce(models.Member.held_since, clock.now()),
}


# Locks the row and leaves it unchanged. Other nodes of a Galera cluster do not
# see the lock, and need not: every change updates the rows that its conditions
# are about.
UNCHANGED = {'updated_at': models.Group.updated_at}


def hold_group(
    context: RequestContext,
    lease: VRTLease,
    group: VRTGroup,
    holds: Sequence[VRTHold],
    expires_at: datetime.datetime,
) -> None:
    """Set a group to HELD with its members and their written holds.

    :param group: in state PLANNING
    :param holds: in state WRITING, including placeholders
    :param expires_at: naive UTC time until which it is held
    :raises: GenerationConflict, also when another planner has taken the group
        over
    """
    ids = [each.member_id for each in holds if not each.is_placeholder]
    needs_host = (
        models.Member.id.in_(ids),
        models.Member.status.in_(states.MEMBER_NEEDS_HOST),
    )
    held = {
        'status': states.Group.HELD,
        'fault': None,
        'generation': group.generation + 1,
        'expires_at': expires_at,
    }
    is_held = db.compare_and_set_all(
        context,
        Change(models.Group, _is_planning(group), held, 1),
        Change(models.Member, needs_host, _HELD, len(ids)),
        release_of_redeemed(ids),
        VRTHold.change_to_held(holds),
        lease.renewal(),
    )
    if not is_held:
        raise exception.GenerationConflict(group=group.uuid)
    group.status = states.Group.HELD
    group.generation += 1
    group.expires_at = expires_at


def _is_planning(group: VRTGroup) -> tuple[Condition, ...]:
    """Return the conditions that a group is unchanged, and PLANNING."""
    return (
        models.Group.id == group.id,
        models.Group.status == states.Group.PLANNING,
        models.Group.generation == group.generation,
    )


def release_of_redeemed(member_ids: Sequence[int]) -> Change:
    """Return the change that releases the redeemed holds of failed servers."""
    is_redeemed = (
        models.Hold.member_id.in_(member_ids),
        models.Hold.status == states.Hold.REDEEMED,
        ~sql_conditions.is_adopted(),
    )
    return Change(models.Hold, is_redeemed, {'status': states.Hold.RELEASED})


def end_member(
    context: RequestContext,
    member: VRTMember,
    status: states.Member,
    fault: str | None,
) -> None:
    """End a member without a hold, or whose hold its server owns.

    :param status: FAILED or TENTATIVE
    :raises: MemberStateConflict
    """
    change = member.status_change(status, fault=fault)
    if not change_members(context, member.group_id, change):
        raise member.conflict(status)
    member.status = status
    member.fault = fault


def change_members(
    context: RequestContext,
    group_id: int,
    *changes: Change,
    group_conditions: Iterable[Condition] = (),
) -> list[int] | None:
    """Change members and holds of a group, and update its status.

    A group with holds or redeems, of members or for resizes of ACTIVE members,
    is HELD. Otherwise it is ACTIVE with at least one server that has a
    member's capacity, and RELEASED without one. The status changes only from
    HELD or ACTIVE.

    :param group_conditions: nothing changes unless the group meets them
    :returns: number of rows that each change matched; None when nothing was
        changed
    """
    is_group = models.Group.id == group_id
    lock = Change(
        models.Group,
        (is_group, *group_conditions),
        UNCHANGED,
        1 if group_conditions else None,
    )
    derived = Change(
        models.Group,
        sql_conditions.may_have_holds(group_id),
        _derived_values(),
    )
    counts = db.compare_and_set_all(context, lock, *changes, derived)
    return counts and counts[1:-1]


def derive_status(context: RequestContext, group_id: int) -> None:
    """Update the status of a group whose members have changed.

    The caller's transaction has the group's row lock.
    """
    may_have_holds = sql_conditions.may_have_holds(group_id)
    VRTGroup.update_rows(context, *may_have_holds, **_derived_values())


def _derived_values() -> dict[str, Any]:
    is_pending = (
        sql_conditions.has_member(states.Member.HELD, states.Member.REDEEMING)
        | sql_conditions.has_resize_reservation()
    )
    has_servers = sql_conditions.has_hold(
        states.Hold.REDEEMED
    ) | sql_conditions.has_member(*states.MEMBER_SERVER_RUNS)
    return {
        'status': sa.case(
            (is_pending, states.Group.HELD.value),
            (has_servers, states.Group.ACTIVE.value),
            else_=states.Group.RELEASED.value,
        ),
        'generation': models.Group.generation + 1,
    }

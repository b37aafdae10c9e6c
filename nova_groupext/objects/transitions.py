# SPDX-License-Identifier: Apache-2.0
"""Changes of a group together with its members and their holds.

Each is one transaction, which updates the group's row before it reads or
changes anything else. This locks the row in every database, with three
results: changes of one group are serialised, other transactions never see a
member without its committed hold, and the status of a group with holds always
follows from its members.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any
from typing import TypeAlias

from nova.context import RequestContext
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Values
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember

#: Members and their holds by the uuid of the server.
_Servers: TypeAlias = Mapping[str, tuple[VRTMember, VRTHold]]

# Values of a member that becomes HELD, from any state
_HELD = {
    'status': states.Member.HELD,
    'server_uuid': None,
    'server_flavor': None,
    'fault': None,
    'held_since': sa.func.coalesce(models.Member.held_since, clock.now()),
}


# Locks the row and leaves it unchanged. Other nodes of a Galera cluster do not
# see the lock, and need not: every change updates the rows that its conditions
# are about.
_UNCHANGED = {'updated_at': models.Group.updated_at}

# Next state of a committed hold that ends; EXCHANGING ones do not end here.
_STATUS_AFTER_END = {
    states.Hold.HELD: states.Hold.RELEASING,
    states.Hold.REDEEMING: states.Hold.RELEASED,
    states.Hold.REDEEMED: states.Hold.RELEASED,
}


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
    is_planning = (
        models.Group.id == group.id,
        models.Group.status == states.Group.PLANNING,
        models.Group.generation == group.generation,
    )
    held = {
        'status': states.Group.HELD,
        'fault': None,
        'generation': group.generation + 1,
        'expires_at': expires_at,
    }
    is_held = db.compare_and_set_all(
        context,
        (models.Group, is_planning, held, 1),
        (models.Member, needs_host, _HELD, len(ids)),
        release_of_redeemed(ids),
        VRTHold.change_to_held(holds),
        lease.renewal(),
    )
    if not is_held:
        raise exception.GenerationConflict(group=group.uuid)
    group.status = states.Group.HELD
    group.generation += 1
    group.expires_at = expires_at


def release_of_redeemed(member_ids: Sequence[int]) -> Change:
    """Return the change that releases the redeemed holds of failed servers."""
    is_redeemed = (
        models.Hold.member_id.in_(member_ids),
        models.Hold.status == states.Hold.REDEEMED,
        ~sql_conditions.is_adopted(),
    )
    return models.Hold, is_redeemed, {'status': states.Hold.RELEASED}, None


def commit_placeholders(
    context: RequestContext,
    group: VRTGroup,
    placeholder_holds: Sequence[VRTHold],
) -> list[int] | None:
    """Commit placeholders of a group that may have holds.

    :param placeholder_holds: in state WRITING; a planner that took the group
        over has ended them
    :returns: None when they were not committed
    """
    return db.compare_and_set_all(
        context,
        (models.Group, sql_conditions.may_have_holds(group.id), _UNCHANGED, 1),
        VRTHold.change_to_held(placeholder_holds),
    )


def reserve(
    context: RequestContext,
    servers: _Servers,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Assign servers to members and their holds, all or none.

    :param servers: those of one group; all members and holds are HELD
    :param check: raises an error to prevent it; called while no other
        transaction changes the group
    :returns: False when a member or hold has changed, the swap in progress
        ends a hold, the group has expired, or a member has one of the servers
        already, e.g. by another delivery of the request
    """
    [group_id] = {member.group_id for member, _hold in servers.values()}

    def work() -> bool:
        if not VRTGroup.is_redeemable(
            context, group_id
        ) or VRTMember.list_by_servers(context, servers):
            return False
        check()
        if not change_members(context, group_id, *_reserve_changes(servers)):
            raise _Rollback
        return True

    try:
        is_reserved = db.with_row_lock(
            context, models.Group, work, id=group_id
        )
    except _Rollback:
        return False
    if is_reserved:
        for uuid, (member, hold) in servers.items():
            member.status = states.Member.REDEEMING
            hold.status = states.Hold.REDEEMING
            member.server_uuid = hold.server_uuid = uuid
    return bool(is_reserved)


class _Rollback(Exception):
    """Internal signal that rolls a transaction back."""


def _reserve_changes(servers: _Servers) -> list[Change]:
    changes = []
    for uuid, (member, hold) in servers.items():
        reserved = {'status': states.Hold.REDEEMING, 'server_uuid': uuid}
        is_unchanged = (
            models.Hold.id == hold.id,
            models.Hold.status == states.Hold.HELD,
            ~models.Hold.ends_with_swap,
        )
        changes += [
            member.status_change(states.Member.REDEEMING, server_uuid=uuid),
            (models.Hold, is_unchanged, reserved, 1),
        ]
    return changes


def redeem(
    context: RequestContext, hold: VRTHold, change_of_member: Change
) -> bool:
    """Set a hold to REDEEMED and change its member.

    :param hold: in state REDEEMING
    :param change_of_member: see VRTMember.status_change()
    :returns: False when one of them has changed meanwhile
    """
    with faultpoints.around('redeem.commit'):
        redeemed = {'status': states.Hold.REDEEMED}
        return _change_hold(context, hold, redeemed, change_of_member)


def end_hold(context: RequestContext, hold: VRTHold, *changes: Change) -> bool:
    """End a committed hold together with other changes.

    A REDEEMING or REDEEMED hold owns nothing itself and becomes RELEASED; the
    reaper has to empty a HELD one, which becomes RELEASING.

    :returns: False when the hold is not committed or is being exchanged, or
        any of the rows has changed: then nothing is changed
    """
    if hold.status not in _STATUS_AFTER_END:
        return False
    with faultpoints.around('release.end'):
        return _change_hold(context, hold, end_values(hold.status), *changes)


def end_values(status: states.Hold) -> dict[str, Any]:
    """Return the values of a hold that ends.

    A redeemed hold is watched: a late request may fill its server after Nova
    has given the server up.
    """
    values = {'status': _STATUS_AFTER_END[status]}
    if status == states.Hold.HELD:
        return values
    is_lost = status == states.Hold.REDEEMING
    return {**values, **watched_holds.watch_values(), 'lost': is_lost}


def _change_hold(
    context: RequestContext, hold: VRTHold, values: Values, *changes: Change
) -> bool:
    is_unchanged = (
        models.Hold.id == hold.id,
        models.Hold.status == hold.status,
    )
    is_changed = change_members(
        context,
        hold.group_id,
        *changes,
        (models.Hold, is_unchanged, values, 1),
    )
    if is_changed:
        hold.status = values['status']
    return bool(is_changed)


def redeem_reservation(
    context: RequestContext, reservation: VRTHold, server_uuid: str
) -> bool:
    """Assign a resize reservation to its server, which is being resized.

    :param reservation: in state HELD, or REDEEMING by that server
    :returns: False when it has changed meanwhile
    """
    if reservation.status == states.Hold.REDEEMING:
        return reservation.server_uuid == server_uuid
    is_unchanged = (
        models.Hold.id == reservation.id,
        models.Hold.status == states.Hold.HELD,
        ~models.Hold.ends_with_swap,
    )
    reserved = {'status': states.Hold.REDEEMING, 'server_uuid': server_uuid}
    is_changed = change_members(
        context, reservation.group_id, (models.Hold, is_unchanged, reserved, 1)
    )
    if is_changed:
        reservation.status, reservation.server_uuid = (
            states.Hold.REDEEMING,
            server_uuid,
        )
    return bool(is_changed)


def end_reservation(
    context: RequestContext, reservation: VRTHold, is_redeemed: bool
) -> None:
    """Set a resize reservation to REDEEMED, or release it.

    :param reservation: in state REDEEMING
    """
    status = states.Hold.REDEEMED if is_redeemed else states.Hold.RELEASING
    is_unchanged = (
        models.Hold.id == reservation.id,
        models.Hold.status == states.Hold.REDEEMING,
    )
    values = {'status': status, **watched_holds.watch_values()}
    change_members(
        context,
        reservation.group_id,
        (models.Hold, is_unchanged, values, None),
    )


def end_member(
    context: RequestContext,
    member: VRTMember,
    status: states.Member,
    fault: str | None,
) -> None:
    """End a member without a hold, or whose hold its server owns.

    :param status: FAILED or RELEASED
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
    lock = (
        models.Group,
        (is_group, *group_conditions),
        _UNCHANGED,
        1 if group_conditions else None,
    )
    derived = (
        models.Group,
        sql_conditions.may_have_holds(group_id),
        _derived_values(),
        None,
    )
    counts = db.compare_and_set_all(context, lock, *changes, derived)
    return counts and counts[1:-1]


def derive_status(context: RequestContext, group_id: int) -> None:
    """Update the status of a group whose members have changed.

    The caller's transaction has the group's row lock.
    """
    db.compare_and_set(
        context,
        models.Group,
        *sql_conditions.may_have_holds(group_id),
        **_derived_values(),
    )


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

# SPDX-License-Identifier: Apache-2.0
"""Redeems: a hold is reserved for a server, which then has its capacity.

Each is one transaction, see transitions.change_members(). The requests to
Placement in between are in scheduler/protocol/redeem.py.
"""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from nova.context import RequestContext

from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Values
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects import watched_holds
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.work_queries import GroupState

#: Members and their holds by the uuid of the server.
_Servers: TypeAlias = Mapping[str, tuple[VRTMember, VRTHold]]

# Next state of a committed hold that ends; EXCHANGING ones do not end here.
_STATUS_AFTER_END = {
    states.Hold.HELD: states.Hold.RELEASING,
    states.Hold.REDEEMING: states.Hold.RELEASED,
    states.Hold.REDEEMED: states.Hold.RELEASED,
}


def reserve(
    context: RequestContext,
    servers: _Servers,
    check: Callable[[GroupState], None] = lambda _state: None,
) -> bool:
    """Assign servers to members and their holds, all or none.

    The group's status needs no update: it is HELD, and stays so.

    :param servers: those of one group; all members and holds are HELD
    :param check: raises an error to prevent it; called with the group's state
        while no other transaction changes the group
    :returns: False when a member or hold has changed, the swap in progress
        ends a hold, the group has expired, or a member has one of the servers
        already, e.g. by another delivery of the request
    """
    [group_id] = {member.group_id for member, _hold in servers.values()}

    def work() -> bool:
        state = VRTGroup.find_state(context, group_id, servers)
        if state is None or not _may_redeem(state, servers):
            raise _Rollback
        check(state)
        if not db.compare_and_set_all(context, *_reserve_changes(servers)):
            raise _Rollback
        return True

    try:
        is_reserved = db.with_row_lock(
            context,
            models.Group,
            work,
            {'generation': models.Group.generation + 1},
            id=group_id,
        )
    except _Rollback:
        return False
    if is_reserved:
        _set_reserved(servers)
    return bool(is_reserved)


def _set_reserved(servers: _Servers) -> None:
    """Change the objects as the transaction has changed their rows."""
    for uuid, (member, hold) in servers.items():
        member.status = states.Member.REDEEMING
        hold.status = states.Hold.REDEEMING
        member.server_uuid = hold.server_uuid = uuid


def _may_redeem(state: GroupState, servers: _Servers) -> bool:
    """Check whether a group may have holds, and has not expired.

    Members that a planner has reserved for their servers do not expire.
    """
    if state.have_members or not state.may_have_holds:
        return False
    return not state.has_expired or all(
        member.reserved_for == uuid for uuid, (member, _) in servers.items()
    )


class _Rollback(Exception):
    """Internal signal that rolls a transaction back."""


def _reserve_changes(servers: _Servers) -> list[Change]:
    changes = []
    for uuid, (member, hold) in servers.items():
        reserved = {'status': states.Hold.REDEEMING, 'server_uuid': uuid}
        is_unchanged = (
            models.Hold.id == hold.id,
            models.Hold.status == states.Hold.HELD,
            sql_conditions.stays_after_swap(),
        )
        changes += [
            _change_to_redeeming(member, uuid),
            Change(models.Hold, is_unchanged, reserved, 1),
        ]
    return changes


def _change_to_redeeming(member: VRTMember, server_uuid: str) -> Change:
    """Return the change of a member that is reserved for nobody else.

    A planner may have reserved it since it was read.
    """
    change = member.status_change(
        states.Member.REDEEMING, server_uuid=server_uuid
    )
    is_free = models.Member.reserved_for.is_(None) | (
        models.Member.reserved_for == server_uuid
    )
    return change._replace(conditions=(*change.conditions, is_free))


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
    is_changed = transitions.change_members(
        context,
        hold.group_id,
        *changes,
        Change(models.Hold, is_unchanged, values, 1),
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
        sql_conditions.stays_after_swap(),
    )
    reserved = {'status': states.Hold.REDEEMING, 'server_uuid': server_uuid}
    is_changed = transitions.change_members(
        context,
        reservation.group_id,
        Change(models.Hold, is_unchanged, reserved, 1),
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
    _change_reservation(context, reservation, states.Hold.REDEEMING, status)


def release_left_reservation(
    context: RequestContext, reservation: VRTHold
) -> None:
    """Release a redeemed reservation whose server has ended."""
    _change_reservation(
        context, reservation, states.Hold.REDEEMED, states.Hold.RELEASED
    )


def _change_reservation(
    context: RequestContext,
    reservation: VRTHold,
    expected: states.Hold,
    status: states.Hold,
) -> None:
    is_unchanged = (
        models.Hold.id == reservation.id,
        models.Hold.status == expected,
    )
    values = {'status': status, **watched_holds.watch_values()}
    transitions.change_members(
        context,
        reservation.group_id,
        Change(models.Hold, is_unchanged, values),
    )

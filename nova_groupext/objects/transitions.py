# SPDX-License-Identifier: Apache-2.0
"""Changes of a group together with its members and their holds.

Each is one transaction, which updates the group's row before it reads or
changes anything else. This locks the row in every database, with three
results: changes of one group are serialised, other transactions never see a
member without its committed hold, and the status of a group with holds always
follows from its members.
"""

import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import hold as hold_obj
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

# Values of a member that becomes HELD, from any state
_HELD = {
    'status': states.Member.HELD,
    'server_uuid': None,
    'server_flavor': None,
    'fault': None,
    'held_since': sa.func.coalesce(models.Member.held_since, clock.now()),
}

HELD_TOO_LONG = (
    'it was held for as long as the operator lets anything be held; replan '
    'the group to ask for it again'
)

# Locks the row and leaves it unchanged. Other nodes of a Galera cluster do not
# see the lock, and need not: every change updates the rows that its conditions
# are about.
_UNCHANGED = {'updated_at': models.Group.updated_at}

# Next state of a committed hold that ends; EXCHANGING ones do not end here.
_END_OF = {
    states.Hold.HELD: states.Hold.RELEASING,
    states.Hold.REDEEMING: states.Hold.RELEASED,
    states.Hold.REDEEMED: states.Hold.RELEASED,
}


def hold(context, lease, group, holds, expires_at):
    """Set a group to HELD with its members and their written holds.

    :param lease: VRTLease of the group
    :param group: VRTGroup in state PLANNING
    :param holds: VRTHold rows in state WRITING, including placeholders
    :param expires_at: naive UTC datetime until which it is held
    :raises: GenerationConflict, also when another planner has taken the group
        over
    """
    ids = [each.member_id for each in holds if not each.is_placeholder]
    done = db.compare_and_set_all(
        context,
        (
            models.Group,
            (
                models.Group.id == group.id,
                models.Group.status == states.Group.PLANNING,
                models.Group.generation == group.generation,
            ),
            {
                'status': states.Group.HELD,
                'fault': None,
                'generation': group.generation + 1,
                'expires_at': expires_at,
            },
            1,
        ),
        (
            models.Member,
            (
                models.Member.id.in_(ids),
                models.Member.status.in_(states.MEMBER_NEEDS_HOST),
            ),
            _HELD,
            len(ids),
        ),
        without_server(ids),
        VRTHold.promised(holds),
        lease.renewed(),
    )
    if not done:
        raise exception.GenerationConflict(group=group.uuid)
    group.status = states.Group.HELD
    group.generation += 1
    group.expires_at = expires_at


def without_server(ids):
    """Return the change that releases the redeemed holds of failed servers.

    :param ids: ids of their members
    """
    redeemed = (
        models.Hold.member_id.in_(ids),
        models.Hold.status == states.Hold.REDEEMED,
        ~conditions.is_adopted(),
    )
    return models.Hold, redeemed, {'status': states.Hold.RELEASED}, None


def commit_placeholders(context, group, placeholder_holds):
    """Commit placeholders of a group that may have holds.

    :param placeholder_holds: VRTHold rows in state WRITING; a planner that
        took the group over has ended them
    :returns: None when they were not committed, else a list
    """
    return db.compare_and_set_all(
        context,
        (models.Group, conditions.still(group.id), _UNCHANGED, 1),
        VRTHold.promised(placeholder_holds),
    )


def reserve(context, servers, check=lambda: None):
    """Assign servers to members and their holds, all or none.

    :param servers: {server uuid: (VRTMember, its VRTHold)}, of one group; all
        are HELD
    :param check: raises an error to prevent it; called without arguments,
        while no other transaction changes the group
    :returns: False when a member or hold has changed or leaves, the group has
        expired, or a member has one of the servers already, e.g. by another
        delivery of the request
    """
    [group_id] = {member.group_id for member, _hold in servers.values()}

    def work():
        if not VRTGroup.is_current(
            context, group_id
        ) or VRTMember.list_by_servers(context, servers):
            return False
        check()
        if not change(context, group_id, *_reserved(servers)):
            raise _Undone
        return True

    try:
        done = db.with_row_lock(context, models.Group, work, id=group_id)
    except _Undone:
        return False
    if done:
        for uuid, (member, hold) in servers.items():
            member.status = states.Member.REDEEMING
            hold.status = states.Hold.REDEEMING
            member.server_uuid = hold.server_uuid = uuid
    return bool(done)


class _Undone(Exception):
    """Internal signal that rolls a transaction back."""


def _reserved(servers):
    changes = []
    for uuid, (member, hold) in servers.items():
        reserved = {'status': states.Hold.REDEEMING, 'server_uuid': uuid}
        own = (
            models.Hold.id == hold.id,
            models.Hold.status == states.Hold.HELD,
            ~models.Hold.leaves,
        )
        changes += [
            member.changed(states.Member.REDEEMING, server_uuid=uuid),
            (models.Hold, own, reserved, 1),
        ]
    return changes


def redeem(context, hold, change_of_member):
    """Set a hold to REDEEMED and change its member.

    :param hold: VRTHold in state REDEEMING
    :param change_of_member: see VRTMember.changed()
    :returns: False when one of them has changed meanwhile
    """
    with faultpoints.around('redeem.close'):
        redeemed = {'status': states.Hold.REDEEMED}
        return _become(context, hold, redeemed, change_of_member)


def end_hold(context, hold, *changes):
    """End a committed hold together with other changes.

    A REDEEMING or REDEEMED hold owns nothing itself and becomes RELEASED; the
    reaper has to empty a HELD one, which becomes RELEASING.

    :param changes: see db.api.compare_and_set_all
    :returns: False when the hold is not committed or is being exchanged, or
        any of the rows has changed: then nothing is changed
    """
    if hold.status not in _END_OF:
        return False
    with faultpoints.around('release.end'):
        return _become(context, hold, _end_of(hold.status), *changes)


def _end_of(status):
    """Return the values of a hold that ends.

    A redeemed hold is watched: a late request may fill its server after Nova
    has given the server up.
    """
    end = {'status': _END_OF[status]}
    if status == states.Hold.HELD:
        return end
    lost = status == states.Hold.REDEEMING
    return {**end, **hold_obj.watching(), 'lost': lost}


def _become(context, hold, values, *changes):
    own = (models.Hold.id == hold.id, models.Hold.status == hold.status)
    done = change(
        context,
        hold.group_id,
        *changes,
        (models.Hold, own, values, 1),
    )
    if done:
        hold.status = values['status']
    return bool(done)


def redeem_reservation(context, reservation, server_uuid):
    """Assign a resize reservation to its server, which is being resized.

    :param reservation: VRTHold in state HELD, or REDEEMING by that server
    :returns: False when it has changed meanwhile
    """
    if reservation.status == states.Hold.REDEEMING:
        return reservation.server_uuid == server_uuid
    own = (
        models.Hold.id == reservation.id,
        models.Hold.status == states.Hold.HELD,
        ~models.Hold.leaves,
    )
    reserved = {'status': states.Hold.REDEEMING, 'server_uuid': server_uuid}
    done = change(
        context, reservation.group_id, (models.Hold, own, reserved, 1)
    )
    if done:
        reservation.status, reservation.server_uuid = (
            states.Hold.REDEEMING,
            server_uuid,
        )
    return bool(done)


def end_reservation(context, reservation, is_redeemed):
    """Set a resize reservation to REDEEMED, or release it.

    :param reservation: VRTHold in state REDEEMING
    """
    status = states.Hold.REDEEMED if is_redeemed else states.Hold.RELEASING
    own = (
        models.Hold.id == reservation.id,
        models.Hold.status == states.Hold.REDEEMING,
    )
    values = {'status': status, **hold_obj.watching()}
    change(context, reservation.group_id, (models.Hold, own, values, None))


def end(context, member, status, fault):
    """End a member without a hold, or whose hold its server owns.

    :param status: FAILED or RELEASED
    :raises: MemberStateConflict
    """
    ended = member.changed(status, fault=fault)
    if not change(context, member.group_id, ended):
        raise member.conflict(status)
    member.status = status
    member.fault = fault


def give_up(context, group, members=None, seen=None):
    """Release members: from now on a late create is refused.

    :param members: VRTMembers of the group without servers, all of them or
        none; by default all those without a server that are not being redeemed
    :param seen: expected generation of the group, None for any
    :returns: True if any hold was released
    :raises: MemberStateConflict when a named member is being redeemed or
        exchanged, GenerationConflict
    """
    wanted = group.members if members is None else members
    ids = [
        each.id for each in wanted if each.status in states.MEMBER_RELEASABLE
    ]
    expected = None if members is None else len(ids)
    changes = _given_up(ids, states.MEMBER_RELEASABLE, expected=expected)
    if members is None:
        changes += (_growths_leave(group),)
    counts = change(context, group.id, *changes, when=conditions.is_as(seen))
    if counts is None:
        now = VRTGroup.brief(context, group.id)
        if seen is not None and (now is None or now.generation != seen):
            raise exception.GenerationConflict(group=group.uuid)
        raise exception.state_conflict(
            [each.path for each in members],
            status='changing',
            reason='a server is being created; nothing was released',
        )
    rows = db.find(context, models.Member, models.Member.id.in_(ids))
    statuses = {row.id: row.status for row in rows}
    for member in wanted:
        member.status = statuses.get(member.id, member.status)
    return any(counts[1:])


def expire(context, group):
    """Release the holds of a group that has expired.

    VRTGroup.extend() updates the group's row too: the group is extended as a
    whole or expires as a whole.

    :returns: True if anything was released; False when the group was extended
        in time, or another process has released it
    """
    with faultpoints.around('release.expire'):
        counts = change(
            context,
            group.id,
            *_given_up(
                [member.id for member in group.members],
                [states.Member.HELD],
                fault=f'its group {member_obj.expired(group.expires_at)}',
            ),
            _growths_leave(group),
            when=(
                *conditions.still(group.id),
                models.Group.expires_at <= clock.now(),
            ),
        )
    return counts is not None and any(counts)


def end_lifetime(context, group, lifetime):
    """Release the holds of a group that are older than the maximum.

    :param lifetime: maximum seconds of a hold
    :returns: True if anything was released
    """
    before = clock.now(-lifetime)
    grown = sa.select(models.Member.id).where(
        models.Member.group_id == group.id,
        models.Member.growth_since <= before,
    )
    counts = change(
        context,
        group.id,
        *_given_up(
            [member.id for member in group.members],
            [states.Member.HELD],
            conditions.is_held_since(before),
            fault=HELD_TOO_LONG,
        ),
        _growths_leave(group, models.Hold.resize_member_id.in_(grown)),
        when=conditions.still(group.id),
    )
    return counts is not None and any(counts)


def change(context, group_id, *changes, when=()):
    """Change members and holds of a group, and update its status.

    A group with holds or redeems, of members or for resizes of ACTIVE members,
    is HELD. Otherwise it is ACTIVE with at least one server that has a
    member's capacity, and RELEASED without one. The status changes only from
    HELD or ACTIVE.

    :param changes: see db.api.compare_and_set_all
    :param when: conditions on the group without which nothing is changed
    :returns: number of rows that each change matched; None when nothing was
        changed
    """
    own = models.Group.id == group_id
    lock = (models.Group, (own, *when), _UNCHANGED, 1 if when else None)
    follow = (models.Group, conditions.still(group_id), followed(), None)
    counts = db.compare_and_set_all(context, lock, *changes, follow)
    return counts and counts[1:-1]


def followed():
    """Return the values of a group whose members have changed."""
    pending = (
        conditions.has_member(states.Member.HELD, states.Member.REDEEMING)
        | conditions.has_resize_reservation()
    )
    servers = conditions.has_hold(
        states.Hold.REDEEMED
    ) | conditions.has_member(*states.MEMBER_SERVER_RUNS)
    return {
        'status': sa.case(
            (pending, states.Group.HELD.value),
            (servers, states.Group.ACTIVE.value),
            else_=states.Group.RELEASED.value,
        ),
        'generation': models.Group.generation + 1,
    }


def _growths_leave(group, *which):
    """Return the change that releases resize reservations.

    :param which: conditions on the reservations; all by default
    """
    resized = sa.select(models.Member.id).where(
        models.Member.group_id == group.id,
        models.Member.status == states.Member.ACTIVE,
    )
    own = (
        models.Hold.group_id == group.id,
        models.Hold.resize_member_id.in_(resized),
        conditions.is_resize_reservation(),
        ~models.Hold.leaves,
        *which,
    )
    return models.Hold, own, {'status': states.Hold.RELEASING}, None


def _given_up(ids, statuses, *which, expected=None, **values):
    """Return the changes that release members and their holds.

    Members whose holds are being exchanged stay unchanged.

    :param ids: ids of the members
    :param statuses: statuses of the members that change
    :param which: further conditions on the members
    :param expected: number of members that have to match; None for any
    :param values: other values of the members
    """
    changes_hands = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        (models.Hold.status == states.Hold.EXCHANGING) | models.Hold.leaves,
    )
    released = models.Hold.member_id.in_(
        sa.select(models.Member.id).where(
            models.Member.id.in_(ids),
            models.Member.status == states.Member.RELEASED,
        )
    )
    return (
        (
            models.Member,
            (
                models.Member.id.in_(ids),
                models.Member.status.in_(statuses),
                ~changes_hands,
                *which,
            ),
            {
                'status': states.Member.RELEASED,
                'held_since': None,
                **values,
            },
            expected,
        ),
        *(
            # Ending a redeemed hold leaves the allocation with the failed
            # server.
            (
                *(models.Hold, (models.Hold.status == was, released)),
                *(_end_of(was), None),
            )
            for was in (states.Hold.HELD, states.Hold.REDEEMED)
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Changes of a group together with its members and their holds.

Each is one transaction, and it changes the group's row before it reads or
changes anything else. That locks the row in every database: what happens to
one group happens one after the other, nobody ever finds a member without what
it was promised, and a group that holds something always has the status that
its members give it.
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

# A member is held, whatever it was before.
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

# Locks the row and leaves it as it is. Other nodes of a Galera cluster do not
# learn of that, and need not: what these changes judge they change.
_UNCHANGED = {'updated_at': models.Group.updated_at}

# What a promised hold becomes that ends, but for one that changes hands.
_END_OF = {
    states.Hold.HELD: states.Hold.RELEASING,
    states.Hold.REDEEMING: states.Hold.RELEASED,
    states.Hold.REDEEMED: states.Hold.RELEASED,
}


def hold(context, lease, group, holds, expires_at):
    """Let a group become HELD with members and the holds written for them.

    :param lease: VRTLease of the group
    :param group: VRTGroup in state PLANNING
    :param holds: VRTHold rows in state WRITING; fillers are among them
    :param expires_at: naive UTC datetime until which it is held
    :raises: GenerationConflict, also when another has taken the group over
    """
    ids = [each.member_id for each in holds if not each.is_filler]
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
                models.Member.status.in_(states.WITHOUT_PLACE),
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
    """Return the change that forgets what failed servers had redeemed.

    :param ids: of their members
    """
    redeemed = (
        models.Hold.member_id.in_(ids),
        models.Hold.status == states.Hold.REDEEMED,
        ~conditions.is_adopted(),
    )
    return models.Hold, redeemed, {'status': states.Hold.RELEASED}, None


def promise(context, group, fillers):
    """Promise fillers to a group, while anything of it is held.

    :param fillers: VRTHold rows in state WRITING: who has taken the group over
        has ended them
    :returns: whether that was done
    """
    return db.compare_and_set_all(
        context,
        (models.Group, conditions.still(group.id), _UNCHANGED, 1),
        VRTHold.promised(fillers),
    )


def reserve(context, servers, check=lambda: None):
    """Write the uuids of servers to members and their holds, all or none.

    :param servers: {server uuid: (VRTMember, its VRTHold)}, of one group; all
        are HELD
    :param check: raises what speaks against it; called without arguments,
        while nobody else changes the group
    :returns: False when somebody else changes, or has changed, one of them;
        or another delivery of the same request was faster
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
        done = db.locked(context, models.Group, work, id=group_id)
    except _Undone:
        return False
    if done:
        for uuid, (member, hold) in servers.items():
            member.status = states.Member.REDEEMING
            hold.status = states.Hold.REDEEMING
            member.server_uuid = hold.server_uuid = uuid
    return bool(done)


class _Undone(Exception):
    """Rolls back what was written before one was found changed."""


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
    """Let a hold be its server's, and its member a server.

    :param hold: VRTHold in state REDEEMING
    :param change_of_member: see VRTMember.changed()
    :returns: False when somebody else has changed one of them
    """
    with faultpoints.around('redeem.close'):
        redeemed = {'status': states.Hold.REDEEMED}
        return _become(context, hold, redeemed, change_of_member)


def end_hold(context, hold, *changes):
    """Let a hold that was promised end together with what that entails.

    What a server has redeemed owns nothing itself; of what was held it is to
    be seen to that it does not.

    :param changes: see db.api.compare_and_set_all
    :returns: False when it was not promised, or somebody else has changed any
        of it: then nothing is changed
    """
    if hold.status not in _END_OF:
        return False
    with faultpoints.around('release.end'):
        return _become(context, hold, _end_of(hold.status), *changes)


def _end_of(status):
    """Return the values of a hold that ends.

    A request that fills the server which has, or should have, redeemed it may
    land when Nova has given that up.
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


def reserve_growth(context, growth, server_uuid):
    """Let a growth be its server's, which is being resized to it.

    :param growth: VRTHold in state HELD, or REDEEMING of that server
    :returns: False when somebody else has changed it
    """
    if growth.status == states.Hold.REDEEMING:
        return growth.server_uuid == server_uuid
    own = (
        models.Hold.id == growth.id,
        models.Hold.status == states.Hold.HELD,
        ~models.Hold.leaves,
    )
    reserved = {'status': states.Hold.REDEEMING, 'server_uuid': server_uuid}
    done = change(context, growth.group_id, (models.Hold, own, reserved, 1))
    if done:
        growth.status, growth.server_uuid = states.Hold.REDEEMING, server_uuid
    return bool(done)


def conclude_growth(context, growth, is_redeemed):
    """Let a growth be its server's for good, or be given back.

    :param growth: VRTHold in state REDEEMING
    """
    status = states.Hold.REDEEMED if is_redeemed else states.Hold.RELEASING
    own = (
        models.Hold.id == growth.id,
        models.Hold.status == states.Hold.REDEEMING,
    )
    values = {'status': status, **hold_obj.watching()}
    change(context, growth.group_id, (models.Hold, own, values, None))


def end(context, member, status, fault):
    """Let a member end that has no hold, or whose hold is its server's.

    :param status: FAILED or RELEASED
    :raises: MemberStateConflict
    """
    ended = member.changed(status, fault=fault)
    if not change(context, member.group_id, ended):
        raise member.conflict(status)
    member.status = status
    member.fault = fault


def give_up(context, group, members=None):
    """Mark members as released: from now on a late create is refused.

    :param members: VRTMembers of the group that are no servers, all of them
        or none; by default all that are none and do not become one at this
        moment
    :returns: whether anything was held of them
    :raises: MemberStateConflict when a named member becomes a server at this
        moment
    """
    wanted = group.members if members is None else members
    ids = [each.id for each in wanted if each.status in states.GIVES_UP]
    expected = None if members is None else len(ids)
    changes = _given_up(ids, states.GIVES_UP, expected=expected)
    if members is None:
        changes += (_growths_leave(group),)
    counts = change(context, group.id, *changes)
    if counts is None:
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
    """Release what is held when a group's time is over.

    VRTGroup.extend() changes the group's row too: the group is extended as a
    whole or expires as a whole.

    :returns: whether anything was released; nothing is when the group was
        extended in time, or another has done it
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
    """Release what of a group was held for as long as anything may be.

    :param lifetime: seconds for which something may be held
    :returns: whether anything was released
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
        _growths_leave(group, models.Hold.grows_id.in_(grown)),
        when=conditions.still(group.id),
    )
    return counts is not None and any(counts)


def change(context, group_id, *changes, when=None):
    """Change members and holds of a group, and let its status follow.

    It is ACTIVE when nothing of it is held or being redeemed any more, for
    members or for resizes of their servers, and at least one server has a
    member's capacity, and RELEASED when none has. A group of which nothing
    can be held keeps its status.

    :param changes: see db.api.compare_and_set_all
    :param when: conditions on the group without which nothing is changed
    :returns: how many rows each change met; None when nothing was changed
    """
    if when is None:
        lock = (models.Group, (models.Group.id == group_id,), _UNCHANGED, None)
    else:
        lock = (models.Group, when, _UNCHANGED, 1)
    still = when or conditions.still(group_id)
    follow = (models.Group, still, followed(), None)
    counts = db.compare_and_set_all(context, lock, *changes, follow)
    return counts and counts[1:-1]


def followed():
    """Return the values of a group whose members have changed."""
    pending = (
        conditions.has_member(states.Member.HELD, states.Member.REDEEMING)
        | conditions.has_growth()
    )
    servers = conditions.has_hold(
        states.Hold.REDEEMED
    ) | conditions.has_member(*states.SERVERS)
    return {
        'status': sa.case(
            (pending, states.Group.HELD.value),
            (servers, states.Group.ACTIVE.value),
            else_=states.Group.RELEASED.value,
        ),
        'generation': models.Group.generation + 1,
    }


def _growths_leave(group, *which):
    """Return the change that gives up what is held for resizes.

    :param which: conditions on those that are given up; all by default
    """
    own = (
        models.Hold.group_id == group.id,
        conditions.is_growth(),
        ~models.Hold.leaves,
        *which,
    )
    return models.Hold, own, {'status': states.Hold.RELEASING}, None


def _given_up(ids, statuses, *which, expected=None, **values):
    """Return the changes that release members and let their holds end.

    Those whose holds change hands at this moment stay as they are.

    :param ids: of members, of which those change that are in these statuses
    :param which: conditions on those
    :param expected: how many these have to be; None for any number
    :param values: what else of the members changes
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
            # What was redeemed stays with the server, that has failed.
            (
                *(models.Hold, (models.Hold.status == was, released)),
                *(_end_of(was), None),
            )
            for was in (states.Hold.HELD, states.Hold.REDEEMED)
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Changes of a group together with its members and their holds.

Each is one transaction, and it changes the group's row before it reads or
changes anything else. That locks the row in every database: what happens to
one group happens one after the other, nobody ever finds a member without what
it was promised, and a group that holds something always has the status that
its members give it.
"""

import dataclasses
import datetime

from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import conditions
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan

# A member is held, whatever it was before.
_HELD = {
    'status': states.Member.HELD,
    'server_uuid': None,
    'server_flavor': None,
    'fault': None,
}

# Locks the row and leaves it as it is.
_UNCHANGED = {'updated_at': models.Group.updated_at}

# Holds that leave with a member that is given up; what was redeemed stays
# with the server, that has failed.
_GIVEN_UP = (states.Hold.HELD, states.Hold.REDEEMED)


def hold(context, group, holds, expires_at):
    """Let a group become HELD with members and the holds written for them.

    :param group: VRTGroup in state PLANNING
    :param holds: VRTHold rows in state WRITING; fillers are among them
    :param expires_at: naive UTC datetime until which it is held
    :raises: GenerationConflict
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
    )
    if not done:
        raise exception.GenerationConflict(group=group.uuid)
    group.status = states.Group.HELD
    group.generation += 1
    group.expires_at = expires_at


@dataclasses.dataclass(frozen=True)
class Exchange:
    """What changes of what a group holds.

    :ivar written: VRTHold rows in state WRITING, of members that are no
        servers, or for the resizes of servers; fillers are among them
    :ivar leaving: promised VRTHolds that these replace, or nobody needs
    :ivar left_out: ids of held members that are not held any more
    :ivar expires_at: naive UTC datetime until which everything is held, or
        for longer if it was before; None for neither more nor less than that
    :ivar is_replan: whether nobody but planners has asked for that; nobody
        is held then who was released
    """

    written: list[VRTHold]
    leaving: list[VRTHold]
    left_out: list[int]
    expires_at: datetime.datetime | None
    is_replan: bool = False


def exchange_holds(context, group, exchange):
    """Let a group that holds something hold something else.

    :param exchange: Exchange
    :returns: whether that was done; nothing is when any of it has changed
    """
    written, leaving = exchange.written, exchange.leaving
    ids = [hold.member_id for hold in written if hold.member_id is not None]
    is_new = models.Member.status.not_in((*states.IN_USE, states.Member.HELD))
    may_be = models.Member.status.not_in(states.IN_USE)
    if exchange.is_replan:
        may_be = models.Member.status.in_(states.REPLANNED)
    counts = _change(
        context,
        group.id,
        (
            models.Group,
            (models.Group.id == group.id,),
            {'expires_at': _held_until(exchange.expires_at)},
            1,
        ),
        (
            models.Hold,
            (
                models.Hold.id.in_([hold.id for hold in leaving]),
                models.Hold.status == states.Hold.HELD,
            ),
            {'status': states.Hold.LEAVING},
            len(leaving),
        ),
        # To one that is held already its server may be on the way.
        (
            models.Member,
            (models.Member.id.in_(ids), is_new),
            {'server_uuid': None},
            None,
        ),
        (
            models.Member,
            (models.Member.id.in_(ids), may_be),
            {'status': states.Member.HELD, 'fault': None},
            len(ids),
        ),
        without_server(ids),
        (
            models.Member,
            (
                models.Member.id.in_(exchange.left_out),
                models.Member.status == states.Member.HELD,
            ),
            {'status': states.Member.TENTATIVE},
            len(exchange.left_out),
        ),
        VRTHold.promised(written),
        when=conditions.still(
            group.id, states.CAN_REPLAN if exchange.is_replan else states.HOLDS
        ),
    )
    return counts is not None


def _held_until(expires_at):
    """Return the time as an expression: nothing of an extension is lost."""
    current = models.Group.expires_at
    if expires_at is None:
        return current
    return sa.case((current > expires_at, current), else_=expires_at)


def without_server(ids):
    """Return the change that forgets what failed servers had redeemed.

    :param ids: of their members
    """
    redeemed = (
        models.Hold.member_id.in_(ids),
        models.Hold.status == states.Hold.REDEEMED,
    )
    return models.Hold, redeemed, {'status': states.Hold.LEAVING}, None


def promise(context, group, fillers):
    """Promise fillers to a group, while anything of it is held.

    :param fillers: VRTHold rows in state WRITING
    :returns: whether that was done
    """
    return db.compare_and_set_all(
        context,
        (models.Group, conditions.still(group.id), _UNCHANGED, 1),
        VRTHold.promised(fillers),
    )


def reserve(context, servers):
    """Write the uuids of servers to members that are held, all or none.

    :param servers: {server uuid: VRTMember in state HELD}, of one group
    :returns: False when somebody else has changed one of the members
    """
    redeeming = states.Member.REDEEMING
    changes = [
        member.changed(redeeming, server_uuid=uuid)
        for uuid, member in servers.items()
    ]
    [group_id] = {member.group_id for member in servers.values()}
    if not _change(context, group_id, *changes):
        return False
    for uuid, member in servers.items():
        member.status = redeeming
        member.server_uuid = uuid
    return True


def end_hold(context, hold, status, *changes):
    """Let a hold that was promised end together with what that entails.

    :param status: REDEEMED or LEAVING
    :param changes: see db.api.compare_and_set_all
    :returns: False when it was not promised, or somebody else has changed any
        of it: then nothing is changed
    """
    if hold.status not in states.PROMISED:
        return False
    own = (models.Hold.id == hold.id, models.Hold.status == hold.status)
    done = _change(
        context,
        hold.group_id,
        *changes,
        (models.Hold, own, {'status': status}, 1),
    )
    if done:
        hold.status = status
    return bool(done)


def begin_move(context, move, is_allowed=lambda: True):
    """Write down where a server goes, if its group allows that now.

    Nobody else changes the group meanwhile. The generation counts up, so that
    nothing is held that was planned with the server where it was.

    :param move: VRTMove, not created yet
    :param is_allowed: called without arguments
    :returns: whether it was written down
    """

    def work():
        if not is_allowed():
            return False
        move.create(context)
        db.compare_and_set(
            context,
            models.Group,
            models.Group.id == move.group_id,
            generation=models.Group.generation + 1,
        )
        return True

    return bool(db.locked(context, models.Group, work, id=move.group_id))


def follow(context, member, hold, seat, *, has_grown=False):
    """Let everything say that a member's server is in a seat now.

    :param hold: VRTHold in state REDEEMED; None for a member that was SHELVED
    :param seat: what VRTPlan.placement is to say of it
    :param has_grown: whether it has the flavor that is described, by now
    :returns: False when the member or its hold was changed meanwhile: then
        nothing is changed
    """

    def work():
        if hold is None:
            active = states.Member.ACTIVE
            model, own, values, _expected = member.changed(active)
            if not db.compare_and_set(context, model, *own, **values):
                return False
            VRTHold.redeemed(member, seat).create(context)
        elif not hold.follow(context, seat):
            return False
        plan = VRTPlan.newest(context, member.group_id)
        if plan is not None:
            plan.follow(context, member.path, seat)
        if has_grown:
            _note_growth(context, member)
        db.compare_and_set(
            context,
            models.Group,
            *conditions.still(member.group_id),
            **_followed(),
        )
        return True

    done = db.locked(context, models.Group, work, id=member.group_id)
    if done:
        member.status = states.Member.ACTIVE
    return bool(done)


def _note_growth(context, member):
    """A server is what is described: nothing more is held for it."""
    db.compare_and_set(
        context,
        models.Member,
        models.Member.id == member.id,
        server_flavor=None,
    )
    db.compare_and_set(
        context,
        models.Hold,
        models.Hold.grows_id == member.id,
        conditions.is_growth(),
        status=states.Hold.LEAVING,
    )


def end(context, member, status, fault):
    """Let a member end that has no hold, or whose hold is its server's.

    :param status: FAILED or RELEASED
    :raises: MemberStateConflict
    """
    change = member.changed(status, fault=fault)
    if not _change(context, member.group_id, change):
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
    changes = _given_up(ids, states.GIVES_UP, expected)
    if members is None:
        changes += (_growths_leave(group),)
    counts = _change(context, group.id, *changes)
    if counts is None:
        raise exception.MemberStateConflict(
            member=', '.join(each.path for each in members),
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
    counts = _change(
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
            models.Group.expires_at <= timeutils.utcnow(),
        ),
    )
    return counts is not None and any(counts)


def note_drift(context, group, drift):
    """Store what is broken, unless the group was changed since it was read.

    It is no change of the group: its generation stays.

    :param drift: [{at, policy}]
    :returns: whether it was stored
    """
    done = db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.generation == group.generation,
        drift=drift,
    )
    if done:
        group.drift = drift
    return bool(done)


def _change(context, group_id, *changes, when=None):
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
    follow = (models.Group, still, _followed(), None)
    counts = db.compare_and_set_all(context, lock, *changes, follow)
    return counts and counts[1:-1]


def _followed():
    """The values of a group whose members have changed."""
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


def _growths_leave(group):
    """Return the change that gives up what is held for resizes."""
    own = (models.Hold.group_id == group.id, conditions.is_growth())
    return models.Hold, own, {'status': states.Hold.LEAVING}, None


def _given_up(ids, statuses, expected=None, **values):
    """Return the changes that release members and let their holds leave.

    :param ids: of members, of which those change that are in these statuses
    :param expected: how many these have to be; None for any number
    :param values: what else of the members changes
    """
    released = sa.select(models.Member.id).where(
        models.Member.id.in_(ids),
        models.Member.status == states.Member.RELEASED,
    )
    return (
        (
            models.Member,
            (
                models.Member.id.in_(ids),
                models.Member.status.in_(statuses),
            ),
            {'status': states.Member.RELEASED, **values},
            expected,
        ),
        (
            models.Hold,
            (
                models.Hold.status.in_(_GIVEN_UP),
                models.Hold.member_id.in_(released),
            ),
            {'status': states.Hold.LEAVING},
            None,
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Revisions: the next definition of a group, from draft to commit.

A revision is stored as a group of its own, the *draft*, which tenants do not
see. The planner plans and holds it while the group stays unchanged. Then one
transaction exchanges the two definitions, and the draft is deleted together
with the parts that the revision drops. A refused draft stays, to show the
reason, until the next one is stored.

A draft's members name the servers that they adopt. Servers that a revision
drops but keeps running are the draft's when it is deleted.
"""

import collections
import contextlib
import dataclasses

import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import group as group_obj
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan

# Parts of a definition besides members and the group's columns
_PARTS = (models.Subgroup, models.Policy, models.Relationship)
_COLUMNS = ('name', 'description', 'expires_in')
_REPEATED = (
    'project_id',
    'user_id',
    'hold',
    'subgroups',
    'policies',
    'relationships',
)
_MEMBER_COLUMNS = ('stem', 'description', 'request')


def again(group, excluded_hosts):
    """Return a draft with the group's present definition, not stored yet.

    :param excluded_hosts: {path: [node, ...]}, see VRTGroup.excluded_hosts
    """
    same = {name: getattr(group, name) for name in (*_COLUMNS, *_REPEATED)}
    return group_obj.VRTGroup(
        **same,
        fault=None,
        client_token=None,
        expires_at=None,
        excluded_hosts=excluded_hosts,
        members=[_tentative(member) for member in group.members],
    )


def _tentative(member):
    same = {name: getattr(member, name) for name in _MEMBER_COLUMNS}
    return VRTMember(
        path=member.path,
        status=states.Member.TENTATIVE,
        fault=None,
        server_uuid=None,
        **same,
    )


def start(context, group, draft):
    """Insert the draft of a group; an earlier, decided one is deleted.

    :param group: VRTGroup
    :param draft: VRTGroup, not stored yet
    :raises: GenerationConflict, or GroupStateConflict while an earlier
        revision is being planned
    """

    def work():
        _count_up(context, group)
        _create(context, group, draft)

    _locking(context, group, work)
    group.generation += 1


def _create(context, group, draft):
    """Insert a draft, and delete an earlier one that is not PLANNING."""
    for old in group_obj.VRTGroup.drafts_of(context, [group.id]).values():
        if old.status == states.Group.PLANNING:
            raise group.conflict('an earlier revision is still being planned')
        old.mark_deleted(context)
    draft.revises_id = group.id
    draft.create(context)


def redefine(context, group, draft):
    """Replace the definition of a group without holds at once.

    The planner then plans the group like a new one.

    :param group: VRTGroup in one of states.GROUP_WITHOUT_HOLDS, or RELEASED
    :param draft: VRTGroup, not stored yet
    :raises: see start()
    """

    def work():
        _create(context, group, draft)
        _exchange_definitions(context, group, draft)
        db.compare_and_set(
            context,
            models.Member,
            models.Member.group_id == group.id,
            models.Member.status == states.Member.RELEASED,
            status=states.Member.TENTATIVE,
            server_uuid=None,
            fault=None,
        )
        # The group itself stays unchanged, because this may be retried.
        group.obj_clone().change(context, states.Group.PLANNING, fault=None)
        draft.mark_deleted(context)

    _locking(context, group, work)
    group.status, group.fault = states.Group.PLANNING, None
    group.generation += 1


def adopted(draft):
    """Return {path: uuid of the server to adopt} of a draft's members."""
    return {
        member.path: member.server_uuid
        for member in draft.members
        if member.server_uuid is not None
    }


def begin_to_adopt(context, lease, group, draft, seats):
    """Insert the holds of servers that a draft is to adopt.

    From then on the draft's definition, too, restricts their moves.

    The caller needs the project's lock, quota.serialised(): of two concurrent
    adoptions of one server the second is refused.

    :param lease: VRTLease of the group
    :param seats: {path: placement entry} with the locations of the servers
    :returns: the inserted VRTHolds
    :raises: GenerationConflict when another member has one of the servers, or
        the group cannot be revised any more, GroupBusy
    """
    members = [member for member in draft.members if member.path in seats]
    rows = [VRTHold.adopted(each, seats[each.path]) for each in members]

    def work():
        if not _may_adopt(context, group, draft):
            raise exception.GenerationConflict(group=group.uuid)
        _note_prepared(context, draft)
        # These are from an earlier try; Nova knows the moves in progress.
        ids = [member.id for member in members]
        db.delete(context, models.Move, models.Move.member_id.in_(ids))
        return VRTHold.create_all(context, rows)

    return swaps.write_down(context, lease, work)


def prepare(context, lease, group, draft, swap, check):
    """Prepare a draft, so that it takes effect as soon as its swap is made.

    Every check is made here, because the commit cannot fail.

    :param lease: VRTLease of the group
    :param swap: swaps.Swap, whose successors are not stored yet
    :param check: raises an error to prevent the commit; called without
        arguments, while no other transaction changes the group
    :returns: the prepared swap
    :raises: GenerationConflict when anything has changed meanwhile, GroupBusy
        when another planner has taken the group over
    """

    def work():
        check()
        _check(context, group, draft, swap)
        swaps.prepare(context, lease, swap.olds, swap.leaving)
        created = VRTHold.create_all(context, swap.successors)
        _note_prepared(context, draft)
        return created

    created = swaps.write_down(context, lease, work)
    return dataclasses.replace(swap, successors=created)


def commit(
    context,
    lease,
    group,
    draft,
    swap,
    check=None,
    lost=(),
    *,
    is_watched=False,
):
    """Make the draft's definition, plan and holds the group's.

    :param swap: swaps.Swap that was made
    :param check: see prepare(); None after prepare(): then only the loss of
        the lease makes a commit fail
    :param lost: see swaps.settle(), also for is_watched
    :raises: GenerationConflict, GroupBusy
    """

    def work():
        if check is not None:
            check()
            _check(context, group, draft, swap)
            swaps.prepare(context, lease, (), swap.leaving)
        plan = VRTPlan.newest(context, draft.id)
        _inherit_times(context, group, draft, swap)
        _exchange_definitions(context, group, draft)
        _begin_to_hold(context, group)
        _adopt(context, group, draft, swap.adopted)
        swaps.settle(
            *(context, group.id, swap, swaps.Side.MADE, lost),
            may_be=may_be(draft),
            is_watched=is_watched,
        )
        _leave_out(context, group)
        _note_growths(context, swap)
        if draft.excluded_hosts is None:
            _extend(context, group)
        _move(context, models.Plan, [plan.id], group)
        _unprepare(context, draft)
        # A draft that is gone was deleted with its group.
        with contextlib.suppress(exception.GroupNotFound):
            draft.obj_clone().mark_deleted(context)

    swaps.write_down(context, lease, work)


def turn_back(context, lease, draft, swap, lost):
    """Restore the state before a swap was prepared.

    :param lost: see swaps.settle()
    """

    def work():
        swaps.settle(
            *(context, lease.group_id, swap, swaps.Side.COMPENSATED, lost),
            may_be=may_be(draft),
            is_watched=True,
        )
        _unprepare(context, draft)

    with faultpoints.around('swap.turn_back'):
        swaps.write_down(context, lease, work)


def _note_prepared(context, draft):
    """Mark a draft as prepared: policy checks include its definition.

    :raises: GenerationConflict when it was deleted or decided meanwhile
    """
    own = models.Group.id == draft.id
    is_planning = models.Group.status == states.Group.PLANNING
    if not db.compare_and_set(
        context, models.Group, own, is_planning, is_prepared=True
    ):
        raise exception.GenerationConflict(group=draft.uuid)


def _unprepare(context, draft):
    own = models.Group.id == draft.id
    db.compare_and_set(context, models.Group, own, is_prepared=False)


def may_be(draft):
    """Return the states from which a draft's members may become HELD."""
    if draft.excluded_hosts is not None:
        return states.MEMBER_REPLACEABLE
    return tuple(s for s in states.Member if s not in states.MEMBER_HAS_SERVER)


def _check(context, group, draft, swap):
    """Check that the draft can still be committed.

    :raises: GenerationConflict
    """
    ids = {each.member_id for each in swap.arriving()} - {None}
    rows = VRTMember.list_by_ids(context, ids)
    fitting = [row for row in rows if row.status in may_be(draft)]
    if (
        len(fitting) != len(ids)
        or not _may_revise(context, group, draft)
        or not _may_drop(context, group, draft)
        or not _may_adopt(context, group, draft)
        or _adopted_move(context, swap)
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _may_revise(context, group, draft):
    """Check whether a group has holds, or is unchanged and gets its first.

    A replacement (excluded_hosts) needs a replaceable group instead.
    """
    now = group_obj.VRTGroup.brief(context, group.id)
    if draft.excluded_hosts is not None:
        return now.status in states.GROUP_REPLACEABLE
    is_same = (now.status, now.generation) == (group.status, group.generation)
    return now.status in states.GROUP_WITH_HOLDS or (
        is_same and now.status in states.GROUP_WITHOUT_HOLDS
    )


def _may_drop(context, group, draft):
    """Check that no dropped member has, or is getting, a server.

    A draft with keep_server may drop members whose servers exist.
    """
    mine, drafted = _members(context, group), _members(context, draft)
    leaving = states.MEMBER_SERVER_RUNS if draft.keep_server else ()
    return not any(
        mine[path].status in states.MEMBER_HAS_SERVER
        and mine[path].status not in leaving
        for path in mine.keys() - drafted.keys()
    )


def _may_adopt(context, group, draft):
    """Check that adopted servers are not another member's, and vice versa."""
    servers = adopted(draft)
    mine = _members(context, group)
    own = {mine[path].id: servers[path] for path in servers.keys() & mine}
    owners = VRTMember.list_by_servers(context, servers.values())
    return all(
        draft.id == owner.group_id or own.get(owner.id) == owner.server_uuid
        for owner in owners
    ) and not any(
        mine[path].status in states.MEMBER_HAS_SERVER
        for path in servers.keys() & mine
    )


def _adopted_move(context, swap):
    """Check whether any adopted server has a stored move."""
    ids = [hold.member_id for hold in swap.adopted]
    return bool(ids and VRTMove.by_member(context, ids))


def _leave_out(context, group):
    """Set HELD members for which the draft holds nothing to TENTATIVE."""
    is_held = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        models.Hold.status.in_(states.HOLD_COMMITTED),
    )
    db.compare_and_set(
        context,
        models.Member,
        models.Member.group_id == group.id,
        models.Member.status == states.Member.HELD,
        ~is_held,
        status=states.Member.TENTATIVE,
        held_since=None,
    )


def _inherit_times(context, group, draft, swap):
    """Copy the start of dropped members' holds to members that replace them.

    Otherwise a tenant could hold capacity for ever by changing names.
    """
    mine, drafted = _members(context, group), _members(context, draft)
    times = sorted(
        mine[path].held_since
        for path in mine.keys() - drafted.keys()
        if mine[path].held_since is not None
    )
    held = {each.member_id for each in swap.arriving()}
    coming = sorted(
        row.id
        for path, row in drafted.items()
        if path not in mine and row.id in held
    )
    ids = collections.defaultdict(list)
    for row_id, since in zip(coming, times, strict=False):
        ids[since].append(row_id)
    for since, some in ids.items():
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id.in_(some),
            held_since=since,
        )


def _note_growths(context, swap):
    """Set the start of new resize reservations.

    A reservation that moves to another host or flavor keeps its start.

    :param swap: swaps.Swap as it was made
    """
    before = {hold.resize_member_id for hold in (*swap.olds, *swap.leaving)}
    new = {hold.resize_member_id for hold in swap.arriving()} - before
    db.compare_and_set(
        context,
        models.Member,
        models.Member.id.in_(new - {None}),
        growth_since=clock.now(),
    )


def _extend(context, group):
    """Extend the group's lifetime to that of a new one; never shorten it."""
    brief = group_obj.VRTGroup.brief(context, group.id)
    ends_at = clock.now(brief.expires_in)
    current = models.Group.expires_at
    db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        expires_at=sa.case((current > ends_at, current), else_=ends_at),
    )


def _begin_to_hold(context, group):
    """Set a group without holds, or a released one, to HELD."""
    db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.status.in_(
            (*states.GROUP_WITHOUT_HOLDS, states.Group.RELEASED)
        ),
        status=states.Group.HELD,
        hold=True,
        fault=None,
    )


def _adopt(context, group, draft, holds):
    """Assign a draft's servers, their holds and moves to the group's members.

    The revision's swap releases the capacity held for these members before.

    :param holds: VRTHolds of begin_to_adopt()
    """
    rows = _members(context, group)
    paths = {member.id: member.path for member in draft.members}
    for hold in holds:
        member = VRTMember.from_row(context, rows[paths[hold.member_id]])
        model, is_same, values, _expected = member.changed(
            states.Member.ACTIVE, server_uuid=hold.server_uuid, fault=None
        )
        db.compare_and_set(context, model, *is_same, **values)
        model, is_left, values, _expected = transitions.without_server(
            [member.id]
        )
        db.compare_and_set(context, model, *is_left, **values)
        own = {'group_id': group.id, 'member_id': member.id}
        is_it = models.Hold.id == hold.id
        db.compare_and_set(context, models.Hold, is_it, otherwise=None, **own)
        is_its = models.Move.member_id == hold.member_id
        db.compare_and_set(context, models.Move, is_its, **own)


def _locking(context, group, work):
    def work_and_tell():
        work()
        return True

    if not db.with_row_lock(context, models.Group, work_and_tell, id=group.id):
        raise exception.GenerationConflict(group=group.uuid)


def _count_up(context, group):
    if not db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.generation == group.generation,
        models.Group.status == group.status,
        generation=group.generation + 1,
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _exchange_definitions(context, group, draft):
    """Exchange the parts of group and draft.

    The group also takes the draft's columns; the draft keeps its own.
    """
    for model in _PARTS:
        old = _ids(context, model, group)
        _move(context, model, _ids(context, model, draft), group)
        _move(context, model, old, draft)
    _exchange_members(context, group, draft)
    columns = {name: getattr(draft, name) for name in _COLUMNS}
    db.compare_and_set(
        context, models.Group, models.Group.id == group.id, **columns
    )


def _exchange_members(context, group, draft):
    """Exchange members that only one of the two has; update the others.

    A member with the same path keeps its row.
    """
    mine = _members(context, group)
    drafted = _members(context, draft)
    dropped = [mine[path] for path in mine.keys() - drafted.keys()]
    new = [drafted[path] for path in drafted.keys() - mine.keys()]
    for some, owner in ((dropped, draft), (new, group)):
        ids = [member.id for member in some]
        _move(context, models.Member, ids, owner)
        _move(context, models.Hold, ids, owner, models.Hold.member_id)
        _move(context, models.Hold, ids, owner, models.Hold.resize_member_id)
        _move(context, models.Move, ids, owner, models.Move.member_id)
    for path in mine.keys() & drafted.keys():
        _redescribe(context, mine[path], drafted[path])


def _redescribe(context, member, drafted):
    described = {name: getattr(drafted, name) for name in _MEMBER_COLUMNS}
    if described != {name: getattr(member, name) for name in _MEMBER_COLUMNS}:
        if member.status == states.Member.ACTIVE:
            described['server_flavor'] = _server_flavor(member, drafted)
        db.compare_and_set(
            context,
            models.Member,
            models.Member.id == member.id,
            **described,
        )


def _server_flavor(member, drafted):
    """Return the server's flavor if its new description differs, or None."""
    flavor = member.server_flavor
    if flavor is None and member.request != drafted.request:
        flavor = member_obj.flavor_of(member.request)
    if flavor and flavor['id'] == drafted.request['flavor_id']:
        return None
    return flavor


def _members(context, group):
    """Return {path: row}."""
    rows = db.find(context, models.Member, models.Member.group_id == group.id)
    return {row.path: row for row in rows}


def _ids(context, model, group):
    return [
        row.id for row in db.find(context, model, model.group_id == group.id)
    ]


def _move(context, model, ids, group, column=None):
    """Assign rows to another group.

    :param column: column that the ids refer to; the rows' own by default
    """
    column = model.id if column is None else column
    db.compare_and_set(context, model, column.in_(ids), group_id=group.id)

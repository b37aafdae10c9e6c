# SPDX-License-Identifier: Apache-2.0
"""The next definition of a group, from its draft until it counts.

A revision is described as a group of its own, the *draft*, which nobody sees
as such. It is planned and held beside the group, which stays as it is all the
time. Then the two exchange their definitions in one transaction, and the
draft is deleted together with what the revision has dropped. A draft that was
refused is kept to say why, until the next one comes.

Servers come and go with a draft. Those that it adopts its members name; those
that it drops, and keeps, are servers of its members when it is deleted.
"""

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

# What belongs to a definition, besides members and the group's own columns.
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


def again(group, elsewhere):
    """Return a draft that describes a group as it is, not stored yet.

    :param elsewhere: {path: [node, ...]}, see VRTGroup.elsewhere
    """
    same = {name: getattr(group, name) for name in (*_COLUMNS, *_REPEATED)}
    return group_obj.VRTGroup(
        **same,
        fault=None,
        client_token=None,
        expires_at=None,
        elsewhere=elsewhere,
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
    """Store the draft of a group, instead of one that came to nothing.

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
    """Store a draft; an earlier one that came to nothing is deleted."""
    for old in group_obj.VRTGroup.drafts_of(context, [group.id]).values():
        if old.status == states.Group.PLANNING:
            raise group.conflict('an earlier revision is still being planned')
        old.mark_deleted(context)
    draft.revises_id = group.id
    draft.create(context)


def redefine(context, group, draft):
    """Let a group of which nothing is held take a new definition at once.

    It is planned again, as if it had been described like that.

    :param group: VRTGroup in one of states.HOLDS_NOTHING, or RELEASED
    :param draft: VRTGroup, not stored yet
    :raises: as start() does
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
        # The group itself stays as it is: perhaps all of this is done again.
        group.obj_clone().change(context, states.Group.PLANNING, fault=None)
        draft.mark_deleted(context)

    _locking(context, group, work)
    group.status, group.fault = states.Group.PLANNING, None
    group.generation += 1


def adopted(draft):
    """Return {path: server uuid} of the members that are to be servers."""
    return {
        member.path: member.server_uuid
        for member in draft.members
        if member.server_uuid is not None
    }


def begin_to_adopt(context, lease, group, draft, seats):
    """Insert the holds of servers that a draft is to adopt.

    From then on their moves are judged, by the draft's definition as well.

    It has to be alone with its project's row, by quota.serialised(): of two
    that adopt the same server the second finds that.

    :param lease: VRTLease of the group
    :param seats: {path: seat} of where the servers are to be
    :returns: VRTHolds that say so
    :raises: GenerationConflict when one of them is another's, or the group
        cannot be revised any more, GroupBusy
    """
    members = [member for member in draft.members if member.path in seats]
    rows = [VRTHold.adopted(each, seats[each.path]) for each in members]

    def work():
        if not _may_adopt(context, group, draft):
            raise exception.GenerationConflict(group=group.uuid)
        _note_prepared(context, draft)
        # Of an earlier try: whether one is under way still, Nova says.
        ids = [member.id for member in members]
        db.delete(context, models.Move, models.Move.member_id.in_(ids))
        return VRTHold.create_all(context, rows)

    return swaps.write_down(context, lease, work)


def prepare(context, lease, group, draft, swap, check):
    """Let the draft count as soon as its swap is made.

    Whatever may speak against that is found here: after that nothing does.

    :param lease: VRTLease of the group
    :param swap: swaps.Swap, with all but its successors written down
    :param check: raises what speaks against it; called without arguments,
        while nobody else changes the group
    :returns: the swap as it was prepared
    :raises: GenerationConflict when anything of it has changed meanwhile,
        GroupBusy when another has taken the group over
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
    """Let the draft's definition, plan and holds become the group's.

    :param swap: swaps.Swap that was made
    :param check: see prepare(); None where that was called: then a commit
        does not fail, but for the lease
    :param lost: see swaps.settle(), and is_watched
    :raises: GenerationConflict, GroupBusy
    """

    def work():
        if check is not None:
            check()
            _check(context, group, draft, swap)
            swaps.prepare(context, lease, (), swap.leaving)
        plan = VRTPlan.newest(context, draft.id)
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
        if draft.elsewhere is None:
            _extend(context, group)
        _move(context, models.Plan, [plan.id], group)
        _unprepare(context, draft)
        # Else it was deleted with its group.
        with contextlib.suppress(exception.GroupNotFound):
            draft.obj_clone().mark_deleted(context)

    swaps.write_down(context, lease, work)


def turn_back(context, lease, draft, swap, lost):
    """Let everything be as it was before the swap was prepared.

    :param lost: see swaps.settle()
    """

    def work():
        swaps.settle(
            *(context, lease.group_id, swap, swaps.Side.IN_VAIN, lost),
            may_be=may_be(draft),
            is_watched=True,
        )
        _unprepare(context, draft)

    with faultpoints.around('swap.turn_back'):
        swaps.write_down(context, lease, work)


def _note_prepared(context, draft):
    """Mark a draft: policies are judged by its definition, too.

    :raises: GenerationConflict when it was deleted, or decided, meanwhile
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
    """Return what members may be that are held by a draft then."""
    if draft.elsewhere is not None:
        return states.REPLANNED
    return tuple(s for s in states.Member if s not in states.IN_USE)


def _check(context, group, draft, swap):
    """Check that everybody can become what the draft wants.

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
    """Tell whether a group still holds something, or begins to just now."""
    now = group_obj.VRTGroup.brief(context, group.id)
    if draft.elsewhere is not None:
        return now.status in states.CAN_REPLAN
    is_same = (now.status, now.generation) == (group.status, group.generation)
    return now.status in states.HOLDS or (
        is_same and now.status in states.HOLDS_NOTHING
    )


def _may_drop(context, group, draft):
    """Tell whether nobody is dropped that is, or becomes, a server."""
    mine, drafted = _members(context, group), _members(context, draft)
    leaving = states.SERVERS if draft.keep_server else ()
    return not any(
        mine[path].status in states.IN_USE and mine[path].status not in leaving
        for path in mine.keys() - drafted.keys()
    )


def _may_adopt(context, group, draft):
    """Tell whether members have no other server, and servers no other."""
    servers = adopted(draft)
    mine = _members(context, group)
    own = {mine[path].id: servers[path] for path in servers.keys() & mine}
    owners = VRTMember.list_by_servers(context, servers.values())
    return all(
        draft.id == owner.group_id or own.get(owner.id) == owner.server_uuid
        for owner in owners
    ) and not any(
        mine[path].status in states.IN_USE for path in servers.keys() & mine
    )


def _adopted_move(context, swap):
    """Check whether servers that are adopted have begun to move since."""
    ids = [hold.member_id for hold in swap.adopted]
    return bool(ids and VRTMove.by_member(context, ids))


def _leave_out(context, group):
    """Let those be TENTATIVE of whom the draft holds nothing any more."""
    is_held = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        models.Hold.status.in_(states.PROMISED),
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


def _note_growths(context, swap):
    """Note since when something is held for resizes.

    It goes on to be so where it is only held elsewhere, or is another flavor.

    :param swap: swaps.Swap, as it was when it was made
    """
    before = {hold.grows_id for hold in (*swap.olds, *swap.leaving)}
    new = {hold.grows_id for hold in swap.arriving()} - before
    db.compare_and_set(
        context,
        models.Member,
        models.Member.id.in_(new - {None}),
        growth_since=clock.now(),
    )


def _extend(context, group):
    """Hold everything for as long as a new group; nothing is shortened."""
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
    """Let a group be one that holds something, if it is none yet."""
    db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.status.in_(
            (*states.HOLDS_NOTHING, states.Group.RELEASED)
        ),
        status=states.Group.HELD,
        hold=True,
        fault=None,
    )


def _adopt(context, group, draft, holds):
    """Assign the servers of a draft to the group's members.

    What was held for them leaves with what the revision exchanges. Moves that
    have begun since it was prepared are theirs, too.

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

    if not db.locked(context, models.Group, work_and_tell, id=group.id):
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
    """Give each of the two what the other was described with."""
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
    """Members stay who they are, whatever is new about them."""
    mine = _members(context, group)
    drafted = _members(context, draft)
    dropped = [mine[path] for path in mine.keys() - drafted.keys()]
    new = [drafted[path] for path in drafted.keys() - mine.keys()]
    for some, owner in ((dropped, draft), (new, group)):
        ids = [member.id for member in some]
        _move(context, models.Member, ids, owner)
        _move(context, models.Hold, ids, owner, models.Hold.member_id)
        _move(context, models.Hold, ids, owner, models.Hold.grows_id)
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
    """Return the flavor of a server that is described with another now."""
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
    """Let rows belong to another group.

    :param column: what the ids are of; by default the rows' own
    """
    column = model.id if column is None else column
    db.compare_and_set(context, model, column.in_(ids), group_id=group.id)

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

import contextlib
import dataclasses

import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import group as group_obj
from nova_groupext.objects import hold_ages
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
_GROUP_COLUMNS = ('name', 'description', 'expires_in')
_COPIED_FIELDS = (
    'project_id',
    'user_id',
    'hold_when_planned',
    'subgroups',
    'policies',
    'relationships',
)
_MEMBER_COLUMNS = ('member_set', 'description', 'resolved_request')


def replacement_draft(group, excluded_hosts):
    """Return a draft with the group's present definition, not stored yet.

    :param excluded_hosts: {path: [node, ...]}, see VRTGroup.excluded_hosts
    """
    values = {
        name: getattr(group, name)
        for name in (*_GROUP_COLUMNS, *_COPIED_FIELDS)
    }
    return group_obj.VRTGroup(
        **values,
        fault=None,
        client_token=None,
        expires_at=None,
        excluded_hosts=excluded_hosts,
        members=[_tentative_copy(member) for member in group.members],
    )


def _tentative_copy(member):
    values = {name: getattr(member, name) for name in _MEMBER_COLUMNS}
    return VRTMember(
        path=member.path,
        status=states.Member.TENTATIVE,
        fault=None,
        server_uuid=None,
        **values,
    )


def store_draft(context, group, draft):
    """Insert the draft of a group; an earlier, decided one is deleted.

    :param group: VRTGroup
    :param draft: VRTGroup, not stored yet
    :raises: GenerationConflict, or GroupStateConflict while an earlier
        revision is being planned
    """

    def work():
        _increment_generation(context, group)
        _replace_draft(context, group, draft)

    _with_group_lock(context, group, work)
    group.generation += 1


def _replace_draft(context, group, draft):
    """Insert a draft, and delete an earlier one that is not PLANNING."""
    for old in group_obj.VRTGroup.drafts_by_group(
        context, [group.id]
    ).values():
        if old.status == states.Group.PLANNING:
            raise group.conflict(
                'an earlier revision is still being planned; retry when '
                'planning has ended'
            )
        old.mark_deleted(context)
    draft.revises_id = group.id
    draft.create(context)


def replace_definition(context, group, draft):
    """Replace the definition of a group without holds at once.

    The planner then plans the group like a new one.

    :param group: VRTGroup in one of states.GROUP_WITHOUT_HOLDS, or RELEASED
    :param draft: VRTGroup, not stored yet
    :raises: see store_draft()
    """

    def work():
        _replace_draft(context, group, draft)
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
        VRTPlan.mark_outdated(context, group.id)
        # The group itself stays unchanged, because this may be retried.
        group.obj_clone().change(context, states.Group.PLANNING, fault=None)
        draft.mark_deleted(context)

    _with_group_lock(context, group, work)
    group.status, group.fault = states.Group.PLANNING, None
    group.generation += 1


def servers_to_adopt(draft):
    """Return {path: uuid of the server to adopt} of a draft's members."""
    return {
        member.path: member.server_uuid
        for member in draft.members
        if member.server_uuid is not None
    }


def insert_adopted_holds(context, lease, group, draft, placements):
    """Insert the holds of servers that a draft is to adopt.

    From then on the draft's definition, too, restricts their moves.

    The caller needs the project's lock, see quota.with_project_lock(): of two
    concurrent adoptions of one server the second is refused.

    :param lease: VRTLease of the group
    :param placements: {path: placement of the server}
    :returns: the inserted VRTHolds
    :raises: GenerationConflict when another member has one of the servers, or
        the group cannot be revised any more, GroupBusy
    """
    members = [member for member in draft.members if member.path in placements]
    rows = [
        VRTHold.for_adoption(each, placements[each.path]) for each in members
    ]

    def work():
        if not _may_adopt(context, group, draft):
            raise exception.GenerationConflict(group=group.uuid)
        _mark_prepared(context, draft)
        # These are from an earlier try; Nova knows the moves in progress.
        ids = [member.id for member in members]
        db.delete(context, models.Move, models.Move.member_id.in_(ids))
        return VRTHold.create_all(context, rows)

    return swaps.with_lease(context, lease, work)


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
        _check_unchanged(context, group, draft, swap)
        swaps.prepare(context, lease, swap.old_holds, swap.ending)
        created = VRTHold.create_all(context, swap.successors)
        _mark_prepared(context, draft)
        return created

    created = swaps.with_lease(context, lease, work)
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
    :param lost: see swaps.store_result(), also for is_watched
    :raises: GenerationConflict, GroupBusy
    """

    def work():
        if check is not None:
            check()
            _check_unchanged(context, group, draft, swap)
            swaps.prepare(context, lease, (), swap.ending)
        plan = VRTPlan.find_newest(context, draft.id)
        hold_ages.store(context, swap)
        _exchange_definitions(context, group, draft)
        _set_group_held(context, group)
        _assign_servers(context, group, draft, swap.adopted)
        swaps.store_result(
            *(context, group.id, swap, swaps.Side.APPLIED, lost),
            member_statuses=replaceable_statuses(draft),
            is_watched=is_watched,
        )
        _reset_members_without_holds(context, group)
        if draft.excluded_hosts is None:
            _extend_lifetime(context, group)
        _assign_to_group(context, models.Plan, [plan.id], group)
        _clear_prepared(context, draft)
        # A draft that is gone was deleted with its group.
        with contextlib.suppress(exception.GroupNotFound):
            draft.obj_clone().mark_deleted(context)

    swaps.with_lease(context, lease, work)


def compensate(context, lease, draft, swap, lost):
    """Restore the state before a swap was prepared.

    :param lost: see swaps.store_result()
    """

    def work():
        swaps.store_result(
            *(context, lease.group_id, swap, swaps.Side.COMPENSATED, lost),
            member_statuses=replaceable_statuses(draft),
            is_watched=True,
        )
        _clear_prepared(context, draft)

    with faultpoints.around('revise.compensate'):
        swaps.with_lease(context, lease, work)


def _mark_prepared(context, draft):
    """Mark a draft as prepared: policy checks include its definition.

    :raises: GenerationConflict when it was deleted or decided meanwhile
    """
    is_planning = (
        models.Group.id == draft.id,
        models.Group.status == states.Group.PLANNING,
    )
    if not db.compare_and_set(
        context, models.Group, *is_planning, is_prepared=True
    ):
        raise exception.GenerationConflict(group=draft.uuid)


def _clear_prepared(context, draft):
    is_draft = models.Group.id == draft.id
    db.compare_and_set(context, models.Group, is_draft, is_prepared=False)


def replaceable_statuses(draft):
    """Return the states from which a draft's members may become HELD."""
    if draft.excluded_hosts is not None:
        return states.MEMBER_REPLACEABLE
    return tuple(s for s in states.Member if s not in states.MEMBER_HAS_SERVER)


def _check_unchanged(context, group, draft, swap):
    """Check that the draft can still be committed.

    :raises: GenerationConflict
    """
    ids = {each.member_id for each in swap.new_holds()} - {None}
    members = VRTMember.list_by_ids(context, ids)
    replaceable = [
        member
        for member in members
        if member.status in replaceable_statuses(draft)
    ]
    if (
        len(replaceable) != len(ids)
        or not _may_revise(context, group, draft)
        or not _may_drop(context, group, draft)
        or not _may_adopt(context, group, draft)
        or _has_adopted_moves(context, swap)
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _may_revise(context, group, draft):
    """Check whether a group has holds, or is unchanged and gets its first.

    A replacement (excluded_hosts) needs a replaceable group instead.
    """
    row = group_obj.VRTGroup.find_row(context, group.id)
    if draft.excluded_hosts is not None:
        return row.status in states.GROUP_REPLACEABLE
    is_same = (row.status, row.generation) == (group.status, group.generation)
    return row.status in states.GROUP_WITH_HOLDS or (
        is_same and row.status in states.GROUP_WITHOUT_HOLDS
    )


def _may_drop(context, group, draft):
    """Check that no dropped member has, or is getting, a server.

    A draft with keep_server may drop members whose servers exist.
    """
    current, drafted = (
        _rows_by_path(context, group),
        _rows_by_path(context, draft),
    )
    droppable = states.MEMBER_SERVER_RUNS if draft.keep_server else ()
    return not any(
        current[path].status in states.MEMBER_HAS_SERVER
        and current[path].status not in droppable
        for path in current.keys() - drafted.keys()
    )


def _may_adopt(context, group, draft):
    """Check that adopted servers are not another member's, and vice versa."""
    servers = servers_to_adopt(draft)
    current = _rows_by_path(context, group)
    server_of = {
        current[path].id: servers[path] for path in servers.keys() & current
    }
    owners = VRTMember.list_by_servers(context, servers.values())
    return all(
        owner.group_id == draft.id
        or server_of.get(owner.id) == owner.server_uuid
        for owner in owners
    ) and not any(
        current[path].status in states.MEMBER_HAS_SERVER
        for path in servers.keys() & current
    )


def _has_adopted_moves(context, swap):
    """Check whether any adopted server has a stored move."""
    ids = [hold.member_id for hold in swap.adopted]
    return bool(ids and VRTMove.by_member(context, ids))


def _reset_members_without_holds(context, group):
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


def _extend_lifetime(context, group):
    """Extend the group's lifetime to that of a new one; never shorten it."""
    row = group_obj.VRTGroup.find_row(context, group.id)
    ends_at = clock.now(row.expires_in)
    current = models.Group.expires_at
    db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        expires_at=sa.case((current > ends_at, current), else_=ends_at),
    )


def _set_group_held(context, group):
    """Set a group without holds, or a released one, to HELD."""
    db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.status.in_(
            (*states.GROUP_WITHOUT_HOLDS, states.Group.RELEASED)
        ),
        status=states.Group.HELD,
        hold_when_planned=True,
        fault=None,
    )


def _assign_servers(context, group, draft, holds):
    """Assign a draft's servers, their holds and moves to the group's members.

    The revision's swap releases the capacity held for these members before.

    :param holds: VRTHolds of insert_adopted_holds()
    """
    rows = _rows_by_path(context, group)
    paths = {member.id: member.path for member in draft.members}
    for hold in holds:
        member = VRTMember.from_row(context, rows[paths[hold.member_id]])
        model, is_same, values, _expected = member.status_change(
            states.Member.ACTIVE, server_uuid=hold.server_uuid, fault=None
        )
        db.compare_and_set(context, model, *is_same, **values)
        model, is_redeemed, values, _expected = (
            transitions.release_of_redeemed([member.id])
        )
        db.compare_and_set(context, model, *is_redeemed, **values)
        owner = {'group_id': group.id, 'member_id': member.id}
        is_hold = models.Hold.id == hold.id
        db.compare_and_set(
            context, models.Hold, is_hold, if_compensated=None, **owner
        )
        is_move = models.Move.member_id == hold.member_id
        db.compare_and_set(context, models.Move, is_move, **owner)


def _with_group_lock(context, group, work):
    def work_and_confirm():
        work()
        return True

    if not db.with_row_lock(
        context, models.Group, work_and_confirm, id=group.id
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _increment_generation(context, group):
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
        old = _row_ids(context, model, group)
        _assign_to_group(
            context, model, _row_ids(context, model, draft), group
        )
        _assign_to_group(context, model, old, draft)
    _exchange_members(context, group, draft)
    columns = {name: getattr(draft, name) for name in _GROUP_COLUMNS}
    db.compare_and_set(
        context, models.Group, models.Group.id == group.id, **columns
    )


def _exchange_members(context, group, draft):
    """Exchange members that only one of the two has; update the others.

    A member with the same path keeps its row.
    """
    current = _rows_by_path(context, group)
    drafted = _rows_by_path(context, draft)
    dropped = [current[path] for path in current.keys() - drafted.keys()]
    new = [drafted[path] for path in drafted.keys() - current.keys()]
    for rows, owner in ((dropped, draft), (new, group)):
        ids = [row.id for row in rows]
        _assign_to_group(context, models.Member, ids, owner)
        _assign_to_group(
            context, models.Hold, ids, owner, models.Hold.member_id
        )
        _assign_to_group(
            context, models.Hold, ids, owner, models.Hold.resize_member_id
        )
        _assign_to_group(
            context, models.Move, ids, owner, models.Move.member_id
        )
    for path in current.keys() & drafted.keys():
        _update_description(context, current[path], drafted[path])


def _update_description(context, member, drafted):
    new, old = (
        {name: getattr(row, name) for name in _MEMBER_COLUMNS}
        for row in (drafted, member)
    )
    if new != old:
        if member.status == states.Member.ACTIVE:
            new['server_flavor'] = _server_flavor(member, drafted)
        db.compare_and_set(
            context, models.Member, models.Member.id == member.id, **new
        )


def _server_flavor(member, drafted):
    """Return the server's flavor if its new description differs, or None."""
    flavor = member.server_flavor
    if flavor is None and member.resolved_request != drafted.resolved_request:
        flavor = member_obj.flavor_of(member.resolved_request)
    if flavor and flavor['id'] == drafted.resolved_request['flavor_id']:
        return None
    return flavor


def _rows_by_path(context, group):
    """Return {path: row}."""
    rows = db.find(context, models.Member, models.Member.group_id == group.id)
    return {row.path: row for row in rows}


def _row_ids(context, model, group):
    return [
        row.id for row in db.find(context, model, model.group_id == group.id)
    ]


def _assign_to_group(context, model, ids, group, column=None):
    """Assign rows to another group.

    :param column: column that the ids refer to; the rows' own by default
    """
    column = model.id if column is None else column
    db.compare_and_set(context, model, column.in_(ids), group_id=group.id)

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

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import exchanges
from nova_groupext.objects import group as group_obj
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

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


@faultpoints.around('revise.start')
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


def commit(context, group, draft, plan, exchange, is_as_planned):
    """Let the draft's definition, plan and holds become the group's.

    What adopts servers has to be alone with its project's row, by
    quota.serialised(): of two that adopt the same one the second finds that.

    :param plan: VRTPlan of the draft, for the whole group
    :param exchange: exchanges.Exchange
    :param is_as_planned: called without arguments, while nobody else changes
        the group
    :raises: GenerationConflict when anything of it has changed meanwhile:
        then nothing is changed
    """

    def work():
        if not is_as_planned():
            raise exception.GenerationConflict(group=group.uuid)
        _exchange_definitions(context, group, draft)
        _begin_to_hold(context, group)
        _adopt(context, group, draft, plan)
        if not exchanges.exchange_holds(context, group, exchange):
            raise exception.GenerationConflict(group=group.uuid)
        _move(context, models.Plan, [plan.id], group)
        _finish(context, draft)

    _locking(context, group, work)


def _begin_to_hold(context, group):
    """Let a group be one that holds something, if it is none yet.

    :raises: GenerationConflict
    """
    if group.status in states.HOLDS_NOTHING and not db.compare_and_set(
        context,
        models.Group,
        models.Group.id == group.id,
        models.Group.status == group.status,
        models.Group.generation == group.generation,
        status=states.Group.HELD,
        hold=True,
        fault=None,
    ):
        raise exception.GenerationConflict(group=group.uuid)


def _adopt(context, group, draft, plan):
    """Let members be servers that run already, where these are.

    What was held for them leaves with what the revision exchanges.

    :raises: GenerationConflict when a member has another server by now, or a
        server another member
    """
    servers = adopted(draft)
    rows = _members(context, group)
    owners = VRTMember.list_by_servers(context, servers.values())
    own = {rows[path].id: uuid for path, uuid in servers.items()}
    if any(own.get(each.id) != each.server_uuid for each in owners):
        raise exception.GenerationConflict(group=group.uuid)
    for path, uuid in servers.items():
        member = VRTMember.from_row(context, rows[path])
        if member.status in states.IN_USE:
            raise exception.GenerationConflict(group=group.uuid)
        model, is_same, values, _expected = member.changed(
            states.Member.ACTIVE, server_uuid=uuid, fault=None
        )
        db.compare_and_set(context, model, *is_same, **values)
        model, is_left, values, _expected = transitions.without_server(
            [member.id]
        )
        db.compare_and_set(context, model, *is_left, **values)
        VRTHold.redeemed(member, plan.placement[path]).create(context)


def _finish(context, draft):
    try:
        draft.mark_deleted(context)
    except exception.GroupNotFound as exc:
        raise exception.GenerationConflict(group=draft.uuid) from exc


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
    """Members stay who they are, whatever is new about them.

    :raises: GenerationConflict when one that is dropped has become a server,
        or is becoming one, and does not leave with it
    """
    mine = _members(context, group)
    drafted = _members(context, draft)
    dropped = [mine[path] for path in mine.keys() - drafted.keys()]
    leaving = states.SERVERS if draft.keep_server else ()
    if any(
        member.status in states.IN_USE and member.status not in leaving
        for member in dropped
    ):
        raise exception.GenerationConflict(group=group.uuid)
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

# SPDX-License-Identifier: Apache-2.0
"""Revision of a group: a new definition, stored as a draft to be planned.

Members whose description is unchanged keep their resolved flavor and image.
The others are resolved as for a new group.
"""

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.api import busy
from nova_groupext.api import describe
from nova_groupext.api import related
from nova_groupext.api import resolve
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import topology


def replan(context, group, movable_paths=None):
    """Store a revision that plans the members without servers again.

    :param movable_paths: paths of the held members that may move; None for all
    :returns: see revise()
    :raises: MemberNotFound, and the errors of revise()
    """
    known = {member.path: member for member in group.members}
    for path in movable_paths or ():
        if path not in known:
            raise exception.MemberNotFound(group=group.uuid, member=path)
        if known[path].status in states.MEMBER_HAS_SERVER:
            raise in_use([known[path]], 'servers stay where they are')
    if group.status == states.Group.PLANNING:
        raise _being_planned(group)
    draft = _same(context, group)
    draft.movable_paths = movable_paths or sorted(known)
    return _store(context, group, draft)


def revise(context, group, wanted, parsed):
    """Store the revised definition of a group.

    :param group: VRTGroup
    :param wanted: the ``vrt_group`` of a PUT, with a topology
    :param parsed: the same topology, as a Topology
    :returns: the VRTGroup to be planned: the group itself if nothing of it is
        held, else its draft
    :raises: GenerationConflict, GroupStateConflict, MemberStateConflict,
        LimitExceeded, TooManyPlanned, InvalidInput
    """
    if wanted['generation'] != group.generation:
        raise exception.GenerationConflict(group=group.uuid)
    _check_state(group)
    related.check(context, group.project_id, parsed, group)
    draft = _draft(context, group, wanted, parsed)
    draft.keep_server = wanted.get('keep_server', False)
    return _store(context, group, draft)


def adopt(context, group, servers):
    """Store a draft in which members become existing servers.

    The draft also holds all members without servers, even if the group held
    nothing before.

    :param servers: {member path: server uuid}, already validated
    :returns: the draft
    :raises: see revise()
    """
    _check_state(group)
    draft = _same(context, group)
    draft.hold = True
    for member in draft.members:
        member.server_uuid = servers.get(member.path)
    return _store(context, group, draft)


def in_use(members, reason):
    """Return the MemberStateConflict of members that have servers."""
    return exception.state_conflict(
        [each.path for each in members],
        status=' or '.join(sorted({each.status for each in members})),
        reason=reason,
    )


def _check_state(group):
    if group.status == states.Group.PLANNING:
        raise _being_planned(group)
    if group.status == states.Group.RELEASED:
        raise group.conflict(
            'nothing of it is held; replan it, or describe a new group'
        )


def _being_planned(group):
    return group.conflict('it is being planned; wait for the outcome')


def _store(context, group, draft):
    """Store a draft, or redefine the group itself if it holds nothing."""
    busy.check(context, group.project_id)
    _check_servers(group, draft)
    _check_quota(context, group, draft)
    if group.status not in states.GROUP_WITH_HOLDS and not revisions.adopted(
        draft
    ):
        revisions.redefine(context, group, draft)
        return group
    revisions.start(context, group, draft)
    return draft


def _same(context, group):
    """Return a draft with the present definition of the group."""
    wanted = {'topology': describe.as_given(group)}
    parsed = describe.read_topology(wanted['topology'])
    return _draft(context, group, wanted, parsed)


def _draft(context, group, wanted, parsed):
    kept = {
        name: getattr(group, name)
        for name in ('name', 'description', 'hold', 'expires_in')
    }
    draft = describe.group(context, {**kept, **wanted}, parsed)
    draft.project_id = group.project_id
    draft.user_id = group.user_id
    draft.movable_paths = None
    draft.keep_server = False
    requests = _requests(context, group, parsed)
    for member in draft.members:
        member.request = requests[member.stem]
    return draft


def _requests(context, group, parsed):
    """Return {stem: resolved request}, see resolve.requests()."""
    before = {member.stem: member for member in group.members}
    same = {
        stem.path: before[stem.path].request
        for stem in parsed.stems
        if stem.path in before
        and topology.spec(before[stem.path].description) == stem.spec
    }
    others = [stem for stem in parsed.stems if stem.path not in same]
    return same | resolve.requests(context, others)


def _check_servers(group, draft):
    """Refuse to drop or change members that have servers.

    Outside of exclusive groups an ACTIVE server's flavor may change.

    :raises: MemberStateConflict, which names all such members
    """
    drafted = {member.path: member for member in draft.members}
    servers = [
        each
        for each in group.members
        if each.status in states.MEMBER_HAS_SERVER
    ]
    dropped = [each for each in servers if each.path not in drafted]
    staying = [each for each in servers if each.path in drafted]
    _check_dropped(draft, dropped)
    changed = [
        each for each in staying if not _is_possible(each, drafted[each.path])
    ]
    if changed:
        raise in_use(
            changed, 'only the flavor of a running server can be changed'
        )
    changed = _resized(group, draft)
    is_exclusive = any(g.has_policy('exclusive') for g in (group, draft))
    if changed and is_exclusive:
        raise in_use(changed, 'servers of exclusive groups are not resized')


def _is_possible(member, drafted):
    """Check whether a member's server can take the drafted description."""
    return drafted.request == member.request or (
        member.status == states.Member.ACTIVE
        and all(
            drafted.request[name] == member.request[name]
            for name in ('image_id', 'is_bfv', 'availability_zone')
        )
    )


def _resized(group, draft):
    """Return the drafted members whose servers are to be resized.

    Also set the present ``server_flavor`` of all with ACTIVE servers.
    """
    drafted = {member.path: member for member in draft.members}
    found = []
    for member in group.members:
        wanted = drafted.get(member.path)
        if wanted and member.status == states.Member.ACTIVE:
            wanted.server_flavor = member.current_flavor
            if wanted.request['flavor_id'] != wanted.server_flavor['id']:
                found.append(wanted)
    return found


def _check_dropped(draft, dropped):
    """Refuse to drop servers without keep_server, or while being created."""
    coming = [
        each for each in dropped if each.status == states.Member.REDEEMING
    ]
    if coming:
        raise in_use(coming, 'a server is being created; wait until it is')
    if dropped and not draft.keep_server:
        raise in_use(
            dropped,
            'delete what runs first, or have it go on by itself with '
            'keep_server (--keep-server)',
        )


def _check_quota(context, group, draft):
    """Refuse a draft above the quota before the planner does."""
    servers = {
        member.path
        for member in group.members
        if member.status in states.MEMBER_HAS_SERVER
    }
    servers.update(revisions.adopted(draft))
    wanted = [member for member in draft.members if member.path not in servers]
    mine = [
        member.id
        for member in group.members
        if member.status in (states.Member.HELD, states.Member.ACTIVE)
    ]
    quota.check(
        context,
        group.project_id,
        wanted,
        besides=mine,
        growing=_resized(group, draft),
    )

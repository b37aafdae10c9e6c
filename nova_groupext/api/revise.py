# SPDX-License-Identifier: Apache-2.0
"""Revision of a group: a new definition, stored as a draft to be planned.

Flavors and images are read as for a new group: operators and owners change
them. Servers keep what they were built with.
"""

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.api import describe
from nova_groupext.api import groups
from nova_groupext.api import related
from nova_groupext.api import resolve
from nova_groupext.membership import stored_revision
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.solver.language import paths


def replan(context, group, movable_paths=None):
    """Store a revision that plans the members without servers again.

    :param movable_paths: paths of the held members that may move; None for all
    :returns: see revise()
    :raises: MemberNotFound, and the errors of revise()
    """
    groups.members_without_server(
        *(group, movable_paths or ()),
        'members with servers cannot be replanned',
    )
    if group.status == states.Group.PLANNING:
        raise _planning_conflict(group)
    draft = _present_draft(context, group)
    set_members(group, draft)
    draft.movable_paths = movable_paths or sorted(
        member.path for member in group.members
    )
    return _store(context, group, draft)


def revise(
    context, group, attributes, parsed, removed=None, *, reads_again=True
):
    """Store the revised definition of a group.

    :param group: VRTGroup
    :param attributes: the ``vrt_group`` of a PUT, with a topology
    :param parsed: the same topology, as a Topology
    :param removed: path of a member, or of a member set, that is removed,
        whatever servers there are
    :param reads_again: whether the flavors and images of unchanged
        descriptions are read, too
    :returns: the VRTGroup to be planned: the group itself if nothing of it is
        held, else its draft
    :raises: GenerationConflict, GroupStateConflict, MemberStateConflict,
        LimitExceeded, TooManyPlanned, InvalidInput
    """
    groups.check_generation(group, attributes['generation'])
    is_given_up = any(
        each.status == states.Member.RELEASED for each in group.members
    )
    _check_state(group, is_given_up=is_given_up)
    related.check(context, group.project_id, parsed, group)
    requests = _read_requests(context, group, parsed, reads_again)
    draft = _draft(context, group, attributes, parsed, requests)
    set_members(group, draft, removed=removed)
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
    draft = _present_draft(context, group)
    set_members(group, draft, adopted=servers)
    draft.hold_when_planned = True
    for member in draft.members:
        member.server_uuid = servers.get(member.path)
    return _store(context, group, draft)


def _check_state(group, *, is_given_up=True):
    """Refuse to revise a group that is being planned, or was given up.

    :param is_given_up: False if a group without holds was not: its holds have
        expired, or its servers have gone
    """
    if group.status == states.Group.PLANNING:
        raise _planning_conflict(group)
    if group.status == states.Group.RELEASED and is_given_up:
        raise group.conflict(
            'it has no held members; replan it or create a new group'
        )


def _planning_conflict(group):
    return group.conflict('it is being planned; retry when planning has ended')


def _store(context, group, draft):
    """Store a draft, or redefine the group itself if it holds nothing."""
    group.check_unexpired()
    groups.check_planning_limit(context, group.project_id)
    _check_names(draft)
    _check_servers(group, draft)
    _check_quota(context, group, draft)
    if (
        group.status not in states.GROUP_WITH_HOLDS
        and not drafts.servers_to_adopt(draft)
    ):
        drafts.replace_definition(context, group, draft)
        return group
    drafts.store(context, group, draft)
    return draft


def _present_draft(context, group):
    """Return a draft with the present definition of the group."""
    attributes = {'topology': describe.compose_topology(group)}
    parsed = describe.read_topology(attributes['topology'])
    requests = {each.path: each.resolved_request for each in group.member_sets}
    return _draft(context, group, attributes, parsed, requests)


def _draft(context, group, attributes, parsed, requests):
    """Return a draft whose members are still to be set.

    :param requests: {member set: resolved request}
    """
    unchanged = {
        'name': group.name,
        'description': group.description,
        'hold': group.hold_when_planned,
        'expires_in': group.expires_in,
    }
    draft = describe.build_group(context, {**unchanged, **attributes}, parsed)
    draft.project_id = group.project_id
    draft.user_id = group.user_id
    draft.movable_paths = None
    draft.keep_server = attributes.get('keep_server', False)
    for member_set in draft.member_sets:
        member_set.resolved_request = requests[member_set.path]
    return draft


def set_members(group, draft, **changes):
    """Give a draft the members that the group has after its revision.

    Member sets that it leaves out stay for their servers, which are leaving.

    :param changes: see stored_revision.revised()
    """
    revised = stored_revision.revised(
        group, draft, drops_servers=draft.keep_server, **changes
    )
    described = {each.path: each for each in draft.member_sets}
    for each in group.member_sets:
        if each.path not in described and any(
            each.path == member_set for _, member_set, _ in revised
        ):
            described[each.path] = each.leaving()
    draft.member_sets = [*described.values()]
    draft.members = [
        VRTMember.tentative(path, described[member_set], succeeds)
        for path, member_set, succeeds in revised
    ]


def _read_requests(context, group, parsed, reads_again):
    """Return {member set: resolved request}, see resolve.requests().

    A flavor that was deleted and created again under its name stays the former
    one while there are servers: only a tenant describes these otherwise.
    """
    present = {each.path: each for each in group.member_sets}
    former = {
        each.path: present[each.path].resolved_request
        for each in parsed.member_sets
        if each.path in present and present[each.path].spec == each.spec
    }
    to_read = [
        each
        for each in parsed.member_sets
        if reads_again or each.path not in former
    ]
    requests = former | resolve.requests(context, to_read, former)
    with_servers = {
        each.member_set
        for each in group.members
        if each.status in states.MEMBER_HAS_SERVER
    }
    kept = {
        path: former[path]
        for path in former.keys() & with_servers
        if former[path]['flavor_id'] != requests[path]['flavor_id']
    }
    return requests | kept


def _check_servers(group, draft):
    """Refuse some changes of members that have servers.

    Only a draft with keep_server drops any: others have them leaving. Image
    and zone may change: the servers are pending until they are rebuilt or
    replaced. Outside of exclusive groups an ACTIVE server's flavor may change.

    :raises: MemberStateConflict, which names all such members
    """
    drafted = {member.path: member for member in draft.members}
    servers = [
        each
        for each in group.members
        if each.status in states.MEMBER_HAS_SERVER
    ]
    dropped = [each for each in servers if each.path not in drafted]
    kept = [each for each in servers if each.path in drafted]
    _check_dropped(dropped)
    obstacles = {
        each.path: _redescribe_obstacle(each, drafted[each.path])
        for each in kept
    }
    changed = [each for each in kept if obstacles[each.path]]
    if changed:
        reasons = dict.fromkeys(obstacles[each.path] for each in changed)
        raise groups.in_use_error(changed, '; '.join(reasons))
    changed = _resized(group, draft)
    is_exclusive = any(g.is_exclusive for g in (group, draft))
    if changed and is_exclusive:
        raise groups.in_use_error(
            changed,
            'servers of a group with an exclusive policy cannot be resized',
        )


def _check_names(draft):
    """Refuse a definition that uses the names of servers that it leaves out.

    Or those that successors will have.

    :raises: MemberStateConflict, which names the members of these servers
    """
    sets = {each.path for each in draft.member_sets}
    subgroups = paths.with_ancestors({paths.parent(each) for each in sets})
    both = sets & subgroups
    names = [
        (paths.succeeded(each.path) if each.is_successor else each.path, each)
        for each in draft.members
    ]
    clashing = [
        name
        for name, each in names
        if (name != each.member_set and name in sets | subgroups)
        or (
            each.described.is_left_out
            and not both.isdisjoint(paths.with_ancestors({each.member_set}))
        )
    ]
    if clashing:
        raise exception.member_state_conflict(
            clashing,
            status='left out',
            reason='the definition uses this path for another member or a '
            'subgroup; delete the servers first, or keep them running with '
            'keep_server (--keep-server)',
        )


def _redescribe_obstacle(member, drafted):
    """Return why a member's server cannot be as drafted; None if it can."""
    old, new = member.resolved_request, drafted.resolved_request
    if old['is_bfv'] != new['is_bfv']:
        return 'whether a server boots from a volume cannot be changed'
    if (
        member.status != states.Member.ACTIVE
        and old['flavor_id'] != new['flavor_id']
    ):
        return 'a flavor can be changed only for an ACTIVE server'
    return None


def _resized(group, draft):
    """Return the drafted members whose servers are to be resized."""
    drafted = {member.path: member for member in draft.members}
    present = [
        drafted[member.path].with_server_of(member)
        for member in group.members
        if member.path in drafted and member.status == states.Member.ACTIVE
    ]
    return [member for member in present if member.has_other_flavor]


def _check_dropped(dropped):
    """Refuse to drop servers while they are being created."""
    redeeming = [
        each for each in dropped if each.status == states.Member.REDEEMING
    ]
    if redeeming:
        raise groups.in_use_error(
            redeeming, 'a server is being created; retry when it exists'
        )


def check_without_servers(members):
    """Refuse to remove members with servers, unless these are to be kept.

    :raises: MemberStateConflict
    """
    servers = [
        each for each in members if each.status in states.MEMBER_HAS_SERVER
    ]
    if servers:
        raise groups.in_use_error(
            servers,
            'members with servers cannot be removed; delete the servers '
            'first, or keep them running with keep_server (--keep-server)',
        )


def _check_quota(context, group, draft):
    """Refuse a draft above the quota before the planner does."""
    servers = {
        member.path
        for member in group.members
        if member.status in states.MEMBER_HAS_SERVER
    }
    servers.update(drafts.servers_to_adopt(draft))
    to_hold = [
        member for member in draft.members if member.path not in servers
    ]
    counted_ids = [
        member.id
        for member in group.members
        if member.status in (states.Member.HELD, states.Member.ACTIVE)
    ]
    quota.check(
        context,
        group.project_id,
        to_hold,
        excluded_ids=counted_ids,
        resizing=_resized(group, draft),
    )

# SPDX-License-Identifier: Apache-2.0
"""Check that members may become the servers of a request.

1. Held members that the server matches, if there are enough.
2. Else members that planners may place: the group's definition allows them,
   and the same was not refused just now.
"""

import difflib
import functools

from nova_groupext import exception
from nova_groupext.api import descriptions
from nova_groupext.api import groups
from nova_groupext.conf import CONF
from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.nova import servers
from nova_groupext.solver.language import validation

# Paths that are compared with an unknown one: how many, how long, and how much
# longer or shorter at most
MAX_COMPARED = 200
MAX_COMPARED_LENGTH = 80
MAX_LENGTH_DIFFERENCE = 5

# Reasons why a path gets no member now
CONFLICTS = {
    creates.Obstacle.CHANGING: 'a server there is being deleted, or has a '
    'successor; retry when it is gone',
    creates.Obstacle.RELEASED: 'a member there was released; revise or replan '
    'the group',
}


def check(context, group, path, server):
    """Check that enough members under a path can become this server.

    A member's own path takes one query.

    :raises: GroupNotFound, MemberNotFound, MemberStateConflict,
        DescriptionMismatch, TooFewRedeemable, InvalidInput
    """
    try:
        members = _find_members(context, group, path)
        _check_held(context, members, path, server)
    except (
        exception.DescriptionMismatch,
        exception.MemberNotFound,
        exception.MemberStateConflict,
        exception.TooFewRedeemable,
    ) as exc:
        _check_placeable(context, group, path, server, exc)


def _check_held(context, members, path, server):
    if members[0].path == path:
        _check_counts(server)
    if len(members) == 1:
        check_redeemable(members[0])
    matching = _matching_sets(
        *(context, server, path),
        {each.member_set: each.resolved_request for each in members},
    )
    free = [
        each
        for each in members
        if each.member_set in matching and each.redeem_obstacle() is None
    ]
    if len(free) < _requested_number(server):
        raise exception.TooFewRedeemable(
            *(_requested_number(server), path, members, free)
        )


def _check_placeable(context, group_uuid, path, server, error):
    """Check that planners may place members for the servers.

    :param error: raised where the definition allows no more members now
    :raises: MemberLimitExceeded, PlacementRefused, DescriptionMismatch,
        GroupStateConflict, MemberStateConflict, InvalidInput
    """
    group = VRTGroup.get(context, group_uuid)
    if group.status not in states.GROUP_REPLACEABLE:
        is_absent = isinstance(error, exception.MemberNotFound)
        if is_absent and allowed.member_sets_for(group, path):
            raise group.conflict(
                'its servers can be created when it is held'
            ) from error
        raise error
    # No group has more members, whatever the request says.
    number = min(_requested_number(server), CONF.vrt.max_members + 1)

    described = descriptions.ServerDescription.of_body(context, server)
    matching = allowed.find_matching(
        group, path, lambda request: not described.differences(request)
    )
    try:
        choices = allowed.choose(
            *(group, path, matching),
            [str(index) for index in range(number)],
            functools.partial(servers.find_ending, context.elevated()),
        )
    except creates.Refused as exc:
        if exc.obstacle == creates.Obstacle.UNKNOWN:
            _suggest(group, path)
        if exc.obstacle == creates.Obstacle.MISMATCH:
            _check_described(context, group, path, server)
        _refuse(path, server, exc.obstacle, error)
    refused = VRTCreate.find_refused(
        *(context, group, path, matching, number),
        has_successors=any(each.member.is_successor for each in choices),
    )
    if refused is not None and not _has_ended_servers(context, group):
        raise exception.PlacementRefused(reason=refused.fault)


def _has_ended_servers(context, group):
    """Check whether Nova has deleted a server that our rows still have.

    What was refused before may fit without it.
    """
    ended, _deleting = servers.find_ending(
        context.elevated(), group.server_uuids
    )
    return bool(ended)


def _suggest(group, path):
    """Raise an error with paths that resemble an unknown one, if any do.

    :raises: UnknownMember
    """
    known = {
        *group.subgroups,
        *(each.path for each in group.member_sets),
        *(each.path for each in group.members if not each.is_successor),
    }
    # Comparing many long paths would take seconds.
    comparable = sorted(
        each
        for each in known
        if max(len(path), len(each)) <= MAX_COMPARED_LENGTH
        and abs(len(path) - len(each)) <= MAX_LENGTH_DIFFERENCE
    )
    similar = difflib.get_close_matches(path, comparable[:MAX_COMPARED])
    if similar:
        raise exception.UnknownMember(
            group=group.uuid, member=path, similar=', '.join(similar)
        )


def _refuse(path, server, obstacle, error):
    """Raise the error for servers that get no members.

    :param error: what keeps them from members that are held
    """
    if obstacle == creates.Obstacle.BEYOND_LIMIT:
        raise exception.MemberLimitExceeded(
            member=path, reason=error.format_message()
        )
    if obstacle == creates.Obstacle.ONE_MEMBER:
        _check_counts(server)
    is_absent = isinstance(error, exception.MemberNotFound)
    if obstacle == creates.Obstacle.CHANGING and isinstance(
        error, exception.MemberStateConflict
    ):
        raise error.because(CONFLICTS[obstacle]) from error
    if is_absent and obstacle in CONFLICTS:
        # The path is that of a member which there may be later.
        raise exception.MemberStateConflict(
            member=path, status='absent', reason=CONFLICTS[obstacle]
        ) from error
    if isinstance(error, exception.TooFewRedeemable):
        raise error.because(CONFLICTS.get(obstacle)) from error
    raise error


def _find_members(context, group, path):
    project_id = context.project_id
    try:
        return VRTMember.list_by_path(
            context, group, path, project_id=project_id
        )
    except exception.MemberNotFound as exc:
        vrt_group = VRTGroup.find(context, group)
        if (
            vrt_group is None
            or vrt_group.project_id != project_id
            or not groups.is_visible(vrt_group)
        ):
            raise exception.GroupNotFound(group=group) from exc
        raise


def _check_counts(server):
    for name in ('min_count', 'max_count'):
        if str(server.get(name, 1)) != '1':
            raise validation.InvalidInput(
                f'$.server.{name}', 'must be 1: one member is one server'
            )


def _requested_number(server):
    """Return the number of servers requested.

    Nova creates fewer than ``max_count`` only if the quota requires it; its
    scheduler finds hosts for all of them or for none.
    """
    number = server.get('max_count', server.get('min_count', 1))
    try:
        return int(number)
    except (TypeError, ValueError, OverflowError):
        return 1  # Nova's schema has the better error.


def _check_described(context, group, path, server):
    """Check that a member set describes the server.

    :raises: DescriptionMismatch
    """
    requests = {
        each.path: each.resolved_request
        for each in allowed.member_sets_for(group, path)
    }
    _matching_sets(context, server, path, requests)


def _matching_sets(context, server, path, requests):
    """Return the paths of those member sets that describe the server.

    :param requests: {path of a member set: its resolved request}
    :raises: DescriptionMismatch if there are none
    """
    described = descriptions.ServerDescription.of_body(context, server)
    differing = {
        member_set: described.differences(request)
        for member_set, request in requests.items()
    }
    matching = [each for each, found in differing.items() if not found]
    if differing and not matching:
        [first, *_others] = differing.values()
        raise descriptions.mismatch(context, path, first)
    return matching


def check_redeemable(member):
    """Refuse to create the server of a member that is not redeemable.

    :raises: MemberStateConflict
    """
    obstacle = member.redeem_obstacle()
    if obstacle is not None:
        raise exception.MemberStateConflict(
            member=member.path, status=member.status, reason=obstacle
        )

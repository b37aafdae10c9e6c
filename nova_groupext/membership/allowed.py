# SPDX-License-Identifier: Apache-2.0
"""Members that a group's definition allows for more servers now."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nova_groupext.membership import creates
from nova_groupext.membership import stored
from nova_groupext.membership.roster import HAS_SERVER
from nova_groupext.membership.roster import Path
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.member_set import Matching

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup
    from nova_groupext.objects.member_set import VRTMemberSet

# Obstacles that stay, whichever servers have ended
_LASTING = (
    creates.Obstacle.UNKNOWN,
    creates.Obstacle.ONE_MEMBER,
    creates.Obstacle.MISMATCH,
)


def member_sets_for(group: 'VRTGroup', hint: Path) -> list['VRTMemberSet']:
    """Return the member sets whose members servers with a hint may become.

    :param hint: path of a member, a member set, a subgroup; '' for the group
    """
    roster = stored.read(group)
    member_set = roster.member_set_of(hint)
    paths = [member_set] if member_set else roster.member_sets_in(hint)
    return [each for each in group.member_sets if each.path in paths]


def find_matching(
    group: 'VRTGroup', hint: Path, is_like: Callable[[JsonObject], bool]
) -> Matching:
    """Return what at or below a path describes some servers.

    :param hint: see member_sets_for()
    :param is_like: checks the servers against a resolved request
    """
    member_sets, server_request = [], None
    for each in member_sets_for(group, hint):
        before = None
        if not is_like(each.resolved_request):
            before = _described_before(group, each.path, is_like)
            if before is None:
                continue
        member_sets.append(each.path)
        server_request = server_request or before
    return Matching(member_sets, server_request)


def _described_before(
    group: 'VRTGroup', member_set: Path, is_like: Callable[[JsonObject], bool]
) -> JsonObject | None:
    """Return the request of a server that is pending and like others."""
    for member in group.members:
        request = member.pending_request
        if member.member_set == member_set and request and is_like(request):
            return request
    return None


def choose(
    group: 'VRTGroup',
    hint: Path,
    matching: Matching,
    servers: Sequence[str],
    find_ending: Callable[
        [list[str]], tuple[Collection[str], Collection[str]]
    ],
) -> list[creates.Choice]:
    """Return the members that some servers would become.

    :param matching: see find_matching()
    :param servers: uuids of the servers, or other names for them
    :param find_ending: returns which of some servers have ended, and which
        are being deleted; called only if that matters
    :raises: creates.Refused
    """
    try:
        return _choose(group, hint, matching, servers)
    except creates.Refused as exc:
        if exc.obstacle in _LASTING:
            raise
    ended, deleting = find_ending(
        [
            member.server_uuid
            for member in group.members
            if member.status in HAS_SERVER
        ]
    )
    return _choose(group, hint, matching, servers, ended, deleting)


def _choose(
    group: 'VRTGroup',
    hint: Path,
    matching: Matching,
    servers: Sequence[str],
    ended: Collection[str] = (),
    deleting: Collection[str] = (),
) -> list[creates.Choice]:
    return creates.choose(
        stored.read(group, matching, ended),
        *(hint, servers, stored.MATCHING, stored.MATCHING, deleting),
    )

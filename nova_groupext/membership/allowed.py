# SPDX-License-Identifier: Apache-2.0
"""Members that a group's definition allows for more servers now."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nova_groupext.membership import creates
from nova_groupext.membership import stored
from nova_groupext.membership.roster import Path
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.member_set import kind_of

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
    kinds = {}
    for each in member_sets_for(group, hint):
        requests = each.resolved_request, *_pending_requests(group, each.path)
        like = next((one for one in requests if is_like(one)), None)
        if like is not None:
            kinds[each.path] = kind_of(like)
    return Matching(kinds)


def _pending_requests(
    group: 'VRTGroup', member_set: Path
) -> Iterator[JsonObject]:
    """Yield the requests of servers that are as described before."""
    for member in group.members:
        if member.member_set == member_set and member.pending_request:
            yield member.pending_request


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
    ended, deleting = find_ending(group.server_uuids)
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
        *(hint, servers, stored.MATCHING, deleting),
    )

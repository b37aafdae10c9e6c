# SPDX-License-Identifier: Apache-2.0
"""Rosters of stored groups.

A successor is stored with a path of its own, which no member can have: that
of the member it is named after, or of its member set, and its server's id.
"""

from collections.abc import Collection
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nova_groupext.membership import settling
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import MemberSet
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import states
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.member_set import are_alike
from nova_groupext.objects.member_set import needs_of
from nova_groupext.solver.language import paths

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup
    from nova_groupext.objects.member import VRTMember
    from nova_groupext.objects.member_set import VRTMemberSet

#: Request of the servers of a create, and of what describes them
MATCHING = 'matching'


NOTHING = Matching()


def read(
    group: 'VRTGroup',
    matching: Matching = NOTHING,
    gone: Collection[str] = (),
) -> Roster:
    """Return the roster of a group.

    :param matching: what describes some servers; its request is MATCHING
    :param gone: uuids of servers that do not exist any more
    """
    requests = _matched_requests(group, matching)
    member_sets = {
        each.path: member_set_of(each, requests[each.path])
        for each in group.member_sets
        if not each.is_left_out
    }
    members = [
        _member(
            each,
            _request_of(group, each, requests),
            bool(group.has_expired),
        )
        for each in group.members
        if not _has_ended(each)
    ]
    pending = {m.id for m in group.members if matching.described_before(m)}
    for member in members:
        if member.row in pending:
            member.request = MATCHING
    needs = {
        requests[each.path]: needs_of(each.resolved_request)
        for each in group.member_sets
    }
    roster = Roster(member_sets, members, _named(group), needs)
    for member in roster.members:
        if member.is_successor:
            member.path = _own_path(roster, member)
    for member in [each for each in roster.members if each.server in gone]:
        settling.leave(roster, member, states.Member.TENTATIVE)
    return roster


def _matched_requests(
    group: 'VRTGroup', matching: Matching
) -> dict[Path, Path]:
    """Return the requests of member sets, MATCHING those that match.

    Sets that are alike stay so, also where a hint names only one of them.
    """
    requests = requests_of(group)
    are_matching = {
        requests[each.path]
        for each in group.member_sets
        if matching.describes_now(each)
    }
    return {
        path: MATCHING if request in are_matching else request
        for path, request in requests.items()
    }


def path_of(member: Member) -> Path:
    """Return the path that a member, or a successor, is stored with."""
    if not member.is_successor:
        return member.path
    return paths.successor(member.path or member.member_set, member.server)


def _own_path(roster: Roster, successor: Member) -> Path | None:
    """Return the path that a successor has as a member, if it has one."""
    path = paths.succeeded(successor.path)
    if path != successor.member_set:
        return path
    is_named = not roster.is_counted(path) and successor.succeeds == path
    return path if is_named else None


def _has_ended(member: 'VRTMember') -> bool:
    """Check whether a successor has no server, and does not get one."""
    return (
        member.is_successor
        and member.reserved_for is None
        and member.status not in states.MEMBER_HAS_SERVER
    )


def requests_of(group: 'VRTGroup') -> dict[Path, Path]:
    """Return {member set: the first one whose servers are alike}.

    Only successors of a subgroup or group may become members of another set.
    """
    requests = {each.path: each.path for each in group.member_sets}
    if any(
        member.is_successor and member.succeeds not in requests
        for member in group.members
    ):
        for each in group.member_sets:
            requests[each.path] = next(
                other.path
                for other in group.member_sets
                if are_alike(other.resolved_request, each.resolved_request)
            )
    return requests


def _request_of(
    group: 'VRTGroup', member: 'VRTMember', requests: Mapping[Path, Path]
) -> Path | None:
    """Return the request of a member's set; a successor's may be another's.

    A server of a former description may be as another set describes it now,
    or as none does: None.
    """
    if not (member.is_successor and member.server_request is not None):
        return requests.get(member.member_set)
    return next(
        (
            requests[each.path]
            for each in group.member_sets
            if are_alike(each.resolved_request, member.server_request)
        ),
        None,
    )


def member_set_of(described: 'VRTMemberSet', request: Path) -> MemberSet:
    counts = described.counts
    return MemberSet(
        request,
        counts.get('count'),
        counts.get('max_count'),
        counts.get('max_surge', 0),
    )


def _member(
    member: 'VRTMember', request: Path | None, has_expired: bool
) -> Member:
    """Return a member; a reserved one counts as one with its server.

    :param has_expired: True if no server can redeem holds of the group
    """
    is_reserved = member.reserved_for is not None
    has_server = member.status in states.MEMBER_HAS_SERVER
    status = states.Member(member.status)
    if is_reserved:
        status = states.Member.REDEEMING
    elif has_expired and status == states.Member.HELD:
        status = states.Member.TENTATIVE
    return Member(
        *(member.path, member.member_set, status, request),
        server=member.server_uuid if has_server else member.reserved_for,
        created=member.id,
        succeeds=member.succeeds,
        row=member.id,
    )


def _named(group: 'VRTGroup') -> set[Path]:
    """Return the paths that the group's policies and relationships name."""
    named = {policy.at for policy in group.policies}
    for relationship in group.relationships:
        named |= {
            paths.join(relationship.at, part)
            for part in relationship.definition['between']
            if isinstance(part, str)
        }
    return named

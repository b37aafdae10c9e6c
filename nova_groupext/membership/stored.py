# SPDX-License-Identifier: Apache-2.0
"""Rosters of stored groups.

A successor is stored with a path of its own, which no member can have: that
of the member it is named after, or of its member set, and its server's id.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nova_groupext.membership import revising
from nova_groupext.membership import settling
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import MemberSet
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.membership.roster import by_path
from nova_groupext.objects import states
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.member_set import are_alike
from nova_groupext.solver.language import paths

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup
    from nova_groupext.objects.member import VRTMember
    from nova_groupext.objects.member_set import VRTMemberSet

#: Request of the servers of a create, and of what describes them
MATCHING = 'matching'
# Request of member sets whose description a revision changes
CHANGED = 'changed'


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
        each.path: _member_set(each, requests[each.path])
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
    roster = Roster(member_sets, members, _named(group))
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
    requests = _requests(group)
    are_matching = {
        requests[each.path]
        for each in group.member_sets
        if matching.describes_now(each)
    }
    return {
        path: MATCHING if request in are_matching else request
        for path, request in requests.items()
    }


def revised(
    group: 'VRTGroup',
    draft: 'VRTGroup',
    adopted: Mapping[Path, str] | None = None,
    removed: Path | None = None,
    *,
    drops_servers: bool = False,
) -> list[tuple[Path, Path, Path | None]]:
    """Return the members of a group after its revision by a draft.

    Servers stay, and count first: of the described members only those are new
    that are missing besides them.

    Stored members keep their paths until the draft is in force, and successors
    stay such: see settle_group.py.

    :param draft: its member sets are resolved; its members do not matter
    :param adopted: {path: uuid} of the servers that members get by it
    :param removed: path of a member, or of a member set, that it removes,
        whatever servers there are
    :param drops_servers: whether servers that are too many leave at once,
        unless some are removed by name: then the others are leaving as before
    :returns: [(path, path of the member set, path that it succeeds)] in the
        order of the draft; servers of member sets that it leaves out are last
    """
    roster = read(group)
    _remove_named(roster, removed)
    for member in roster.members:
        if member.path in (adopted or {}) and not member.is_successor:
            member.status = states.Member.REDEEMING
            member.server = adopted[member.path]
    described = _described(group, draft)
    _describe_successors(group, roster, described)
    requests = {each.path: request for each, request in described}
    member_sets = {
        each.path: _member_set(each, requests[each.path])
        for each in draft.member_sets
    }
    revising.revise(roster, member_sets)
    if drops_servers and removed is None:
        _remove_leaving(roster)
    rows = {member.id: member for member in group.members}
    return [
        _stored(rows[each.row], each)
        if each.row is not None
        else (each.path, each.member_set, None)
        for each in _in_order(roster.members, member_sets)
    ]


def _in_order(
    members: Iterable[Member], member_sets: Iterable[Path]
) -> list[Member]:
    """Return members in the order of member sets, others last."""
    order = {path: number for number, path in enumerate(member_sets)}
    return sorted(
        members,
        key=lambda each: (
            order.get(each.member_set, len(order)),
            *by_path(each),
        ),
    )


def _stored(
    row: 'VRTMember', member: Member
) -> tuple[Path, Path, Path | None]:
    """Return what a draft has of a stored member; see revised()."""
    is_settled_later = row.is_successor and not member.is_successor
    member_set = row.member_set if is_settled_later else member.member_set
    return row.path, member_set, row.succeeds


def _described(
    group: 'VRTGroup', draft: 'VRTGroup'
) -> list[tuple['VRTMemberSet', Path]]:
    """Return the member sets of a draft with their requests.

    The unchanged ones come first; a request that the draft adds is CHANGED.
    """
    before = {each.path: each for each in group.member_sets}
    requests = _requests(group)
    unchanged = {
        each.path: requests[each.path]
        for each in draft.member_sets
        if each.path in before
        and are_alike(
            before[each.path].resolved_request, each.resolved_request
        )
    }
    described = []
    for each in sorted(
        draft.member_sets, key=lambda each: each.path not in unchanged
    ):
        request = (
            unchanged.get(each.path)
            or _request_for(described, each.resolved_request)
            or f'{CHANGED} {each.path}'
        )
        described.append((each, request))
    return described


def _request_for(
    described: Iterable[tuple['VRTMemberSet', Path]],
    resolved: Mapping[str, object],
) -> Path | None:
    """Return the request of the first member set that describes servers."""
    for each, request in described:
        if are_alike(each.resolved_request, resolved):
            return request
    return None


def _describe_successors(
    group: 'VRTGroup',
    roster: Roster,
    described: Sequence[tuple['VRTMemberSet', Path]],
) -> None:
    """Give successors the request of a member set that describes them now."""
    rows = {member.id: member for member in group.members}
    for member in roster.members:
        if member.is_successor:
            own = rows[member.row].current_request
            member.request = _request_for(described, own) or member.request


def _remove_named(roster: Roster, removed: Path | None) -> None:
    """Remove the member with a path, or a member set with its successors."""
    roster.remove(
        [
            each
            for each in roster.members
            if removed == each.member_set
            or (removed == each.path and not each.is_successor)
        ]
    )


def _remove_leaving(roster: Roster) -> None:
    """Remove servers beyond the limits, with what succeeds them by name.

    Successors of sets left out go, too.
    """
    for path in {each.member_set for each in roster.members}:
        leaving = roster.leaving(path)
        names = {each.path for each in leaving}
        followers = [
            each
            for each in roster.successors_of(path)
            if path not in roster.member_sets
            or (each.names_member and each.path in names)
        ]
        roster.remove([*leaving, *followers])


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


def _requests(group: 'VRTGroup') -> dict[Path, Path]:
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


def _member_set(described: 'VRTMemberSet', request: Path) -> MemberSet:
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

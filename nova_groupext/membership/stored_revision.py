# SPDX-License-Identifier: Apache-2.0
"""Members of stored groups after a revision of their definitions."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nova_groupext.membership import revising
from nova_groupext.membership import stored
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.membership.roster import by_path
from nova_groupext.objects import states
from nova_groupext.objects.member_set import are_alike
from nova_groupext.objects.member_set import needs_of

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup
    from nova_groupext.objects.member import VRTMember
    from nova_groupext.objects.member_set import VRTMemberSet

# Path of a member, path of its member set, path that it succeeds
Entry = tuple[Path, Path, Path | None]

# Request of member sets whose description a revision changes
CHANGED = 'changed'


def revised(
    group: 'VRTGroup',
    draft: 'VRTGroup',
    adopted: Mapping[Path, str] | None = None,
    removed: Path | None = None,
    *,
    drops_servers: bool = False,
) -> list[Entry]:
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
    :returns: in the order of the draft, those of sets that it leaves out last
    """
    roster = stored.read(group)
    _remove_named(roster, removed)
    _adopt(roster, adopted or {})
    described = _described(group, draft)
    _describe_successors(group, roster, described)
    requests = {each.path: request for each, request in described}
    member_sets = {
        each.path: stored.member_set_of(each, requests[each.path])
        for each in draft.member_sets
    }
    revising.revise(roster, member_sets)
    if drops_servers and removed is None:
        _remove_leaving(roster)
    rows = {member.id: member for member in group.members}
    ordered = _in_order(roster.members, member_sets)
    return [_entry(rows.get(each.row), each) for each in ordered]


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


def _adopt(roster: Roster, servers: Mapping[Path, str]) -> None:
    """Give members the servers that they get by a revision."""
    for member in roster.members:
        if member.path in servers and not member.is_successor:
            member.status = states.Member.REDEEMING
            member.server = servers[member.path]


def _entry(row: 'VRTMember | None', member: Member) -> Entry:
    """Return what a draft has of a member; a new one has no row."""
    if row is None:
        return member.path, member.member_set, None
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
    requests = stored.requests_of(group)
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
    """Give successors the request of a member set that describes them now.

    Also tell the roster what the draft's requests require.
    """
    for each, request in described:
        roster.needs[request] = needs_of(each.resolved_request)
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

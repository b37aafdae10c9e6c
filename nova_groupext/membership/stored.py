# SPDX-License-Identifier: Apache-2.0
"""Rosters of stored groups."""

from collections.abc import Collection
import dataclasses
from typing import TYPE_CHECKING

from nova_groupext.membership import revising
from nova_groupext.membership import settling
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import MemberSet
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import states
from nova_groupext.objects.member_set import are_alike
from nova_groupext.solver.language import paths

if TYPE_CHECKING:
    from nova_groupext.objects.group import VRTGroup
    from nova_groupext.objects.member import VRTMember
    from nova_groupext.objects.member_set import VRTMemberSet

#: Request of the servers of a create, and of the member sets like them.
MATCHING = 'matching'
# Request of member sets whose description a revision changes
CHANGED = 'changed'


def read(
    group: 'VRTGroup',
    matching: Collection[Path] = (),
    gone: Collection[str] = (),
) -> Roster:
    """Return the roster of a group.

    :param matching: member sets whose description some servers match; their
        request is MATCHING
    :param gone: uuids of servers that do not exist any more
    """
    has_expired = bool(group.has_expired)
    roster = Roster(
        {
            each.path: _member_set(each, each.path in matching)
            for each in group.member_sets
        },
        [
            _member(each, each.member_set in matching, has_expired)
            for each in group.members
        ],
        _named(group),
    )
    for member in [each for each in roster.members if each.server in gone]:
        settling.leave(roster, member, states.Member.TENTATIVE)
    return roster


def revised(group: 'VRTGroup', draft: 'VRTGroup') -> list[tuple[Path, Path]]:
    """Return the members of a group after its revision by a draft.

    Servers stay, and count first: of the described members only those are new
    that are missing besides them.

    :param draft: its member sets are resolved; its members do not matter
    :returns: [(path, path of the member set)] in the order of the draft;
        servers of member sets that it leaves out are not included
    """
    roster = read(group)
    before = {each.path: each for each in group.member_sets}
    member_sets = {}
    for each in draft.member_sets:
        old = before.get(each.path)
        is_same = old is not None and are_alike(
            old.resolved_request, each.resolved_request
        )
        described = _member_set(each, is_matching=False)
        if not is_same:
            described = dataclasses.replace(described, request=CHANGED)
        member_sets[each.path] = described
    revising.revise(roster, member_sets)
    return [
        (member.path, path)
        for path in member_sets
        for member in roster.members_of(path)
    ]


def _member_set(described: 'VRTMemberSet', is_matching: bool) -> MemberSet:
    counts = described.counts
    request = MATCHING if is_matching else described.path
    return MemberSet(
        *(request, request),
        counts.get('count'),
        counts.get('max_count'),
    )


def _member(
    member: 'VRTMember', is_matching: bool, has_expired: bool
) -> Member:
    """Return a member; a reserved one counts as one with its server.

    :param has_expired: True if no server can redeem holds of the group
    """
    request = MATCHING if is_matching else member.member_set
    is_reserved = member.reserved_for is not None
    has_server = member.status in states.MEMBER_HAS_SERVER
    status = states.Member(member.status)
    if is_reserved:
        status = states.Member.REDEEMING
    elif has_expired and status == states.Member.HELD:
        status = states.Member.TENTATIVE
    return Member(
        *(member.path, member.member_set),
        status,
        *(request, request),
        server=member.server_uuid if has_server else member.reserved_for,
        created=member.id,
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

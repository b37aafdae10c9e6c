# SPDX-License-Identifier: Apache-2.0
"""Members of a group under a revised definition.

Servers stay, and count before holds. Missing members are added; servers beyond
the definition are LEAVING.

1. Members without a host are forgotten; servers count for the member set that
   their path belongs to.
2. Successors become members where the new limits have space.
3. Holds beyond the new count end, the others get the new description, and
   those that are missing are to be held.
"""

from nova_groupext.membership import settling
from nova_groupext.membership.roster import HAS_SERVER
from nova_groupext.membership.roster import IS_UNPLACED
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import MemberSet
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import states

HELD = states.Member.HELD


def revise(roster: Roster, member_sets: dict[Path, MemberSet]) -> list[Member]:
    """Give a group another definition.

    :param member_sets: {path: MemberSet} of the new definition
    :returns: members that have to be placed: new ones, and held ones whose
        description differs. They are HELD in the roster. A planner may leave
        out as many of a set as its ``min_count`` allows, see leave_out().
    """
    roster.member_sets = dict(member_sets)
    _forget_unplaced(roster)
    for member in roster.members:
        if not member.is_successor or member.names_member:
            member.member_set = (
                roster.member_set_of(member.path) or member.member_set
            )
    settling.rename(roster)
    _promote_successors(roster)
    to_place = []
    for path, member_set in member_sets.items():
        to_place += _describe_holds(roster, path, member_set)
    return to_place


def leave_out(roster: Roster, member: Member) -> None:
    """Give up the hold of a member for which no host was found."""
    member.status = states.Member.TENTATIVE


def _forget_unplaced(roster: Roster) -> None:
    """Remove what is described anew, under another name if that is taken."""
    roster.remove(
        [
            each
            for each in roster.members
            if each.status in (states.Member.RELEASED, *IS_UNPLACED)
            or (each.status == HELD and _has_taken_name(roster, each))
        ]
    )


def _has_taken_name(roster: Roster, member: Member) -> bool:
    """Check whether a member is called as a set, or subgroup, is now."""
    return (
        member.path != member.member_set
        and roster.is_node(member.path)
        and roster.member_set_of(member.path) is None
    )


def _promote_successors(roster: Roster) -> None:
    """Make members of successors, until no limit has space for one.

    Each may make space for another one elsewhere.
    """
    number = sum(each.is_successor for each in roster.members)
    for _round in range(number + 1):
        for path, member_set in roster.member_sets.items():
            _end_holds_beyond_count(roster, path, member_set)
        settling.settle(roster)
        unplaced = [
            each for each in roster.members if each.status in IS_UNPLACED
        ]
        roster.remove(unplaced)


def _end_holds_beyond_count(
    roster: Roster, path: Path, member_set: MemberSet
) -> int:
    """End holds for which there are servers; return how many are missing."""
    servers = roster.members_of(path, *HAS_SERVER)
    held = roster.members_of(path, HELD)
    to_hold = max(0, member_set.wanted - len(servers))
    settling.remove_holds(roster, path, max(0, len(held) - to_hold))
    return max(0, to_hold - len(held))


def _describe_holds(
    roster: Roster, path: Path, member_set: MemberSet
) -> list[Member]:
    """Describe the held members of a set; return those to be placed."""
    missing = _end_holds_beyond_count(roster, path, member_set)
    to_place = []
    for member in roster.members_of(path, HELD):
        if member.request != member_set.request:
            to_place.append(member)
        member.request = member_set.request
    return to_place + roster.add_described(path, HELD, missing)

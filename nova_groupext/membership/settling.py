# SPDX-License-Identifier: Apache-2.0
"""Update of paths and counts of members after servers came or went.

1. A successor becomes a member as soon as the server that it succeeds is
   gone, or the limit of a member set has space for it.
2. Single members and counted ones get paths of their kind.
3. Holds beyond the limit end: servers count first.
4. As many members without a host are described as are missing.
"""

from collections.abc import Collection

from nova_groupext.membership.roster import HAS_SERVER
from nova_groupext.membership.roster import IS_PLACED
from nova_groupext.membership.roster import IS_UNPLACED
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import MemberSet
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.membership.roster import is_within
from nova_groupext.objects import states

HELD = states.Member.HELD
TENTATIVE = states.Member.TENTATIVE


def settle(roster: Roster) -> None:
    """Bring names and numbers in line with the definition.

    A held member that is removed no longer needs its hold.
    """
    follow_servers(roster)
    present = {each.member_set for each in roster.members}
    _settle_sets(roster, present.union(roster.member_sets))


def _settle_sets(roster: Roster, paths: Collection[Path]) -> None:
    """Bring names and numbers of some member sets in line."""
    described = [path for path in roster.member_sets if path in paths]
    for path in described:
        _rename_set(roster, path)
    for path in paths:
        if path not in roster.member_sets:
            gone = roster.members_of(
                path, HELD, states.Member.RELEASED, *IS_UNPLACED
            )
            roster.remove(gone)
    for path in described:
        remove_holds(roster, path, roster.number_leaving(path))
        _describe_missing(roster, path, roster.member_sets[path])


def leave(roster: Roster, member: Member, status: states.Member) -> None:
    """Take host and server from a member, or end a successor.

    :param status: of the member from now on
    """
    if member.is_successor:
        roster.remove([member])
    else:
        member.status, member.server = status, None
    if any(each.is_successor for each in roster.members):
        settle(roster)
    else:
        # Thousands may leave at once: other sets stay as they are.
        _settle_sets(roster, [member.member_set])


def has_follower(roster: Roster, member: Member) -> bool:
    """Check whether a successor becomes a member when this one goes."""
    return any(
        each.succeeds == member.path
        or (
            not each.names_member
            and member.member_set in _member_sets_for(roster, each)
        )
        for each in roster.members
        if each.is_successor
    )


def remove_holds(roster: Roster, member_set: Path, number: int) -> None:
    """Remove the held members of a member set with the last paths."""
    held = roster.members_of(member_set, HELD)
    roster.remove(held[max(0, len(held) - number) :])


def _describe_missing(
    roster: Roster, path: Path, member_set: MemberSet
) -> None:
    """Adapt the number of members without a host to what is described."""
    placed = roster.members_of(path, *IS_PLACED)
    released = roster.members_of(path, states.Member.RELEASED)
    unplaced = roster.members_of(path, *IS_UNPLACED)
    missing = max(0, member_set.wanted - len(placed) - len(released))
    roster.remove(unplaced[missing:])
    number = max(0, missing - len(unplaced))
    roster.add_described(path, TENTATIVE, number)


# -- successors --------------------------------------------------------------


def follow_servers(roster: Roster) -> None:
    """Make members of the successors whose time has come.

    Those that have named a member are first, then the oldest.
    """
    successors = [each for each in roster.members if each.is_successor]
    for successor in sorted(
        successors, key=lambda each: (not each.names_member, each.created)
    ):
        if _follows_by_name(roster, successor):
            _follow_member(roster, successor)
        else:
            _follow_any(roster, successor)


def _follows_by_name(roster: Roster, successor: Member) -> bool:
    """Check whether a successor waits for the one member that it has named.

    A single member has no other name: its successor waits for space.
    """
    is_single = (
        successor.member_set in roster.member_sets
        and not roster.is_counted(successor.member_set)
    )
    return successor.names_member and not is_single


def _follow_member(roster: Roster, successor: Member) -> None:
    succeeded = roster.find(successor.path)
    if succeeded is None or succeeded.status not in IS_PLACED:
        _promote(roster, successor, successor.member_set, successor.path)


def _follow_any(roster: Roster, successor: Member) -> None:
    for member_set in _member_sets_for(roster, successor):
        if roster.remaining(member_set) > 0:
            unplaced = roster.members_of(member_set, *IS_UNPLACED)
            path = (
                unplaced[0].path if unplaced else roster.free_path(member_set)
            )
            _promote(roster, successor, member_set, successor.path or path)
            return
    if successor.member_set not in roster.member_sets:
        path = successor.path or roster.free_path(successor.member_set)
        _promote(roster, successor, successor.member_set, path)


def _member_sets_for(roster: Roster, successor: Member) -> list[Path]:
    """Return the member sets of which a successor may become a member."""
    return [
        path
        for path in sorted(roster.member_sets)
        if path == successor.member_set
        or (
            is_within(path, successor.succeeds)
            and roster.suits(successor, path)
        )
    ]


def _promote(
    roster: Roster, successor: Member, member_set: Path, path: Path
) -> None:
    """Make a successor the member with a path, instead of an unplaced one."""
    unplaced = roster.members_of(member_set, *IS_UNPLACED)
    roster.remove([each for each in unplaced if each.path == path])
    successor.member_set, successor.path, successor.succeeds = (
        member_set,
        path,
        None,
    )


# -- single and counted members ----------------------------------------------


def rename(roster: Roster) -> None:
    """Rename members whose member set has got a count, or has lost it."""
    for path in roster.member_sets:
        _rename_set(roster, path)


def _rename_set(roster: Roster, member_set: Path) -> None:
    if roster.is_counted(member_set):
        _rename_single(roster, member_set)
    else:
        _rename_counted(roster, member_set)


def _rename_single(roster: Roster, member_set: Path) -> None:
    """Give the former single member of a counted member set an index."""
    for member in roster.members_of(member_set):
        if member.path == member_set:
            _rename(roster, member, roster.free_path(member_set))


def _rename_counted(roster: Roster, member_set: Path) -> None:
    """Give a former counted member the path of the single one.

    Servers precede holds. Successors of a single member have no names of their
    own.
    """
    members = roster.members_of(member_set)
    running = [each for each in members if each.status in HAS_SERVER]
    held = [each for each in members if each.status == HELD]
    preferred = running or held
    if preferred and all(each.path != member_set for each in preferred):
        roster.remove([each for each in members if each.path == member_set])
        _rename(roster, preferred[0], member_set)
    for successor in roster.successors_of(member_set):
        if not successor.names_member:
            successor.path = None


def _rename(roster: Roster, member: Member, path: Path) -> None:
    for successor in roster.successors_of(member.member_set):
        if successor.names_member and successor.path == member.path:
            successor.path = successor.succeeds = path
    member.path = path

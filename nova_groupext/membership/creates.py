# SPDX-License-Identifier: Apache-2.0
"""Choice of the members that the servers of a create request become.

A hint names a member, or a path: the common path of counted members, a
subgroup, or the group. Each server gets, at or below that path,

1. a held member that is described as the server is,
2. else a described member without a host, or a held one whose description
   differs: it is placed for this server,
3. else a new member, if the limit of the member set has space,
4. else it becomes a successor, if the member set allows one.

With the path of a member of a counted member set the order is the same; if no
member has this path, an unneeded member gets it.
"""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import typing

from nova_groupext.membership.roster import HAS_SERVER
from nova_groupext.membership.roster import IS_UNPLACED
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import Path
from nova_groupext.membership.roster import Roster
from nova_groupext.membership.roster import by_path
from nova_groupext.membership.roster import is_within
from nova_groupext.objects import states


class Obstacle(enum.Enum):
    """Reason why a create request gets no members."""

    # Nothing of the group has this path.
    UNKNOWN = enum.auto()
    # Several servers cannot be one member.
    ONE_MEMBER = enum.auto()
    # Nothing at this path is described as the server is.
    MISMATCH = enum.auto()
    # A server is being deleted, or has a successor: that ends by itself.
    CHANGING = enum.auto()
    HAS_SERVER = enum.auto()
    RELEASED = enum.auto()
    # The definition allows no more servers.
    BEYOND_LIMIT = enum.auto()


class Refused(Exception):
    """The definition of the group admits no such create request now.

    :ivar obstacle: Obstacle
    """

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle


class Choice(typing.NamedTuple):
    """The member that a server becomes.

    :ivar is_held: True if its hold suits the server; else it has to be placed
    """

    member: Member
    is_held: bool = False


def choose(
    roster: Roster,
    hint: Path,
    servers: Sequence[str],
    request: Hashable,
    deleting: Collection[str] = (),
) -> list[Choice]:
    """Choose a member for each server, all or none.

    The members become REDEEMING, with their servers.

    :param roster: changed only if all servers get a member
    :param hint: path; '' for the group
    :param request: see roster.MemberSet
    :param deleting: servers that Nova is deleting
    :raises: Refused
    """
    name = None if roster.member_set_of(hint) is None else hint
    if name is not None and len(servers) > 1:
        raise Refused(Obstacle.ONE_MEMBER)
    member_sets = _matching_sets(roster, hint, request)
    draft = _copy(roster)
    last = max((each.created for each in draft.members), default=0)
    left = (
        _choices_of_any(draft, member_sets, hint, request)
        if name is None
        else _choices_of_named(draft, *member_sets, name, request)
    )
    choices = []
    for number, server in enumerate(servers, last + 1):
        choice = next(left, None)
        if choice is None:
            raise Refused(_obstacle(roster, member_sets, name, deleting))
        _assign(choice, server, number, request)
        choices.append(choice)
    roster.members = draft.members
    return choices


def _matching_sets(
    roster: Roster, hint: Path, request: Hashable
) -> list[Path]:
    """Return the member sets of a hint that describe such servers.

    :raises: Refused if there is none
    """
    named = roster.member_set_of(hint)
    hinted = roster.member_sets_in(hint) if named is None else [named]
    if not hinted:
        raise Refused(_absent(roster, hint))
    matching = [each for each in hinted if _matches(roster, each, request)]
    if not matching:
        raise Refused(Obstacle.MISMATCH)
    return matching


def _absent(roster: Roster, hint: Path) -> Obstacle:
    """Return the obstacle where the definition has nothing at a path."""
    was_defined = any(
        each.path == hint or is_within(each.member_set, hint)
        for each in roster.members
    )
    return Obstacle.BEYOND_LIMIT if was_defined else Obstacle.UNKNOWN


def _matches(roster: Roster, member_set: Path, request: Hashable) -> bool:
    """Check a server's request against a member set.

    While servers of the former description exist, servers like them match,
    too.
    """
    pending = {
        each.request
        for each in roster.members
        if each.member_set == member_set and roster.is_pending(each)
    }
    return request in {roster.member_sets[member_set].request, *pending}


def _copy(roster: Roster) -> Roster:
    members = [dataclasses.replace(each) for each in roster.members]
    return Roster(roster.member_sets, members, roster.named, roster.needs)


def _assign(
    choice: Choice,
    server: str,
    number: int,
    request: Hashable,
) -> None:
    member = choice.member
    member.status = states.Member.REDEEMING
    member.server = server
    member.created = number
    if not choice.is_held:
        member.request = request


def _choices_of_any(
    roster: Roster, member_sets: Sequence[Path], hint: Path, request: Hashable
) -> Iterator[Choice]:
    """Yield Choices among all members of some member sets, the best first.

    The caller assigns a server to each before it asks for the next one. What
    comes later never makes an earlier kind possible again.
    """
    for member_set in member_sets:
        for member in roster.members_of(member_set, states.Member.HELD):
            if member.request == request:
                yield Choice(member, is_held=True)
    for member_set in member_sets:
        unplaced = roster.members_of(member_set, *IS_UNPLACED)
        held = roster.members_of(member_set, states.Member.HELD)
        for member in (*unplaced, *held):
            yield Choice(member)
    for member_set in member_sets:
        number = max(0, roster.remaining(member_set))
        for path in roster.iter_free_paths(member_set, number):
            yield _new(roster, member_set, path)
    for member_set in member_sets:
        for _each in range(roster.remaining_successors(member_set)):
            yield _new(roster, member_set, None, succeeds=hint)


def _choices_of_named(
    roster: Roster, member_set: Path, name: Path, request: Hashable
) -> Iterator[Choice]:
    """Yield the only Choice of a name, if there is one."""
    choice = _choose_named(roster, member_set, name, request)
    if choice is not None:
        yield choice


def _choose_named(
    roster: Roster, member_set: Path, name: Path, request: Hashable
) -> Choice | None:
    """Choose the member with a path, or give a member this path."""
    member = roster.find(name)
    if member is None:
        if _is_name_of_successor(roster, member_set, name):
            return None
        if spare := _spare_member(roster, member_set, request):
            names_either = bool({name, spare.path} & roster.named)
            spare.path = name
            is_held = _is_held_for(spare, request) and not names_either
            return Choice(spare, is_held)
        if roster.remaining(member_set) > 0:
            return _new(roster, member_set, name)
        if roster.remaining_successors(member_set) > 0:
            return _new(roster, member_set, name, succeeds=member_set)
    elif member.status in (states.Member.HELD, *IS_UNPLACED):
        return Choice(member, _is_held_for(member, request))
    elif (
        member.status in HAS_SERVER
        and roster.remaining_successors(member_set) > 0
    ):
        return _new(roster, member_set, name, succeeds=name)
    return None


def _is_name_of_successor(
    roster: Roster, member_set: Path, name: Path
) -> bool:
    """Check whether a successor will have a name that no member has yet."""
    return any(each.path == name for each in roster.successors_of(member_set))


def _spare_member(
    roster: Roster, member_set: Path, request: Hashable
) -> Member | None:
    """Return the member without a server that is best renamed, or None.

    Members that policies name are renamed last; held ones are preferred, then
    those with the highest index.
    """
    return max(
        roster.members_of(member_set, states.Member.HELD, *IS_UNPLACED),
        key=lambda each: (
            each.path not in roster.named,
            _is_held_for(each, request),
            by_path(each),
        ),
        default=None,
    )


def _is_held_for(member: Member, request: Hashable) -> bool:
    return member.status == states.Member.HELD and member.request == request


def _new(
    roster: Roster,
    member_set: Path,
    path: Path | None,
    succeeds: Path | None = None,
) -> Choice:
    """Add a member, or a successor."""
    member = Member(
        path=path,
        member_set=member_set,
        status=states.Member.TENTATIVE,
        request=roster.member_sets[member_set].request,
        succeeds=succeeds,
    )
    return Choice(roster.add(member))


def _obstacle(
    roster: Roster,
    member_sets: Sequence[Path],
    name: Path | None,
    deleting: Collection[str],
) -> Obstacle:
    """Return why no member is left.

    Clients repeat a request that meets a conflict, and no other: a conflict
    is what ends by itself, or what another owner of the name has caused.
    """
    if any(_is_changing(roster, each, deleting) for each in member_sets):
        return Obstacle.CHANGING
    member = roster.find(name) if name is not None else None
    if member is not None:
        is_released = member.status == states.Member.RELEASED
        return Obstacle.RELEASED if is_released else Obstacle.HAS_SERVER
    if any(
        roster.members_of(each, states.Member.RELEASED) for each in member_sets
    ):
        return Obstacle.RELEASED
    return Obstacle.BEYOND_LIMIT


def _is_changing(
    roster: Roster, member_set: Path, deleting: Collection[str]
) -> bool:
    """Check whether a server of a member set that counts is about to go."""
    going = [
        each
        for each in roster.members
        if each.member_set == member_set and each.server in deleting
    ]
    return bool(roster.successors_of(member_set)) or (
        len(going) > roster.number_leaving(member_set)
    )

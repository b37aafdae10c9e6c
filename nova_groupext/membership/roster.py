# SPDX-License-Identifier: Apache-2.0
"""Rosters: the member sets of a definition and the members that there are.

A member set is one member of a definition, or with a count several. These are
counted, not indexed: any of them counts towards the limit, whatever its index
is.

A *successor* is a server beyond the limit of its member set, while one that it
succeeds still exists. Then it becomes a member.
"""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools
from types import MappingProxyType

from nova_groupext.objects import states
from nova_groupext.solver.language import paths

Path = str

#: Members with a server, with a host, and described ones without a host
HAS_SERVER = states.MEMBER_HAS_SERVER
IS_PLACED = states.MEMBER_PLACED
IS_UNPLACED = states.MEMBER_NEEDS_HOST


@dataclasses.dataclass(frozen=True)
class MemberSet:
    """One member set of ``members`` in a definition.

    :ivar request: what its servers request of the scheduler; equal for
        member sets and servers that are alike
    :ivar count: None for a single member
    :ivar max_count: None if creates may not add members
    :ivar max_surge: maximum number of successors
    """

    request: Hashable
    count: int | None = None
    max_count: int | None = None
    max_surge: int = 0

    @property
    def wanted(self) -> int:
        """Number of members that are placed without being asked for."""
        return 1 if self.count is None else self.count

    @property
    def limit(self) -> int:
        """Number of members that may be placed."""
        return self.wanted if self.max_count is None else self.max_count

    @property
    def may_grow(self) -> bool:
        return self.max_count is not None


@dataclasses.dataclass
class Member:
    """A member, or a successor.

    :ivar path: None for a successor without a name of its own
    :ivar member_set: path of its member set
    :ivar request: see MemberSet; of its server if it has one
    :ivar created: orders the members by the creation of their servers
    :ivar succeeds: None for a member; else a path: the successor follows the
        first member at or below it that goes
    :ivar row: id of the stored member; None for a new one
    """

    path: Path | None
    member_set: Path
    status: states.Member
    request: Hashable
    server: str | None = None
    created: int = 0
    succeeds: Path | None = None
    row: int | None = None

    @property
    def is_successor(self) -> bool:
        return self.succeeds is not None

    @property
    def names_member(self) -> bool:
        """True for a successor of the member that has its path."""
        return self.succeeds == self.path


class Roster:
    """Entries and members of a group.

    :ivar member_sets: {path: MemberSet}
    :ivar members: [Member], successors among them
    :ivar named: paths of members that policies or relationships name
    :ivar needs: {request: what it requires of a host}; other images may
        require the same
    """

    def __init__(
        self,
        member_sets: dict[Path, MemberSet],
        members: Collection[Member] = (),
        named: Collection[Path] = (),
        needs: Mapping[Hashable, object] = MappingProxyType({}),
    ) -> None:
        self.member_sets = dict(member_sets)
        self.members = [*members]
        self.named = frozenset(named)
        self.needs = dict(needs)

    # -- members -----------------------------------------------------------

    def members_of(
        self, member_set: Path, *statuses: states.Member
    ) -> list[Member]:
        """Return the members of a set in the order of their indexes."""
        found = [
            each
            for each in self.members
            if each.member_set == member_set
            and not each.is_successor
            and (not statuses or each.status in statuses)
        ]
        return sorted(found, key=by_path)

    def successors_of(self, member_set: Path) -> list[Member]:
        """Return the successors of a member set, the oldest first."""
        found = [
            each
            for each in self.members
            if each.member_set == member_set and each.is_successor
        ]
        return sorted(found, key=lambda each: each.created)

    def find(self, path: Path) -> Member | None:
        """Return the member with a path; None if there is none."""
        return next(
            (
                each
                for each in self.members
                if each.path == path and not each.is_successor
            ),
            None,
        )

    def add(self, member: Member) -> Member:
        self.members.append(member)
        return member

    def add_described(
        self, member_set: Path, status: states.Member, number: int
    ) -> list[Member]:
        """Add some members that are as their member set describes them."""
        described = self.member_sets[member_set]
        return [
            self.add(Member(path, member_set, status, described.request))
            for path in self.iter_free_paths(member_set, number)
        ]

    def is_pending(self, member: Member) -> bool:
        """Check whether a server differs from its present description."""
        described = self.member_sets.get(member.member_set)
        return (
            described is not None
            and member.status in HAS_SERVER
            and member.request != described.request
        )

    def remove(self, members: Collection[Member]) -> None:
        gone = {id(each) for each in members}
        self.members = [each for each in self.members if id(each) not in gone]

    def suits(self, member: Member, member_set: Path) -> bool:
        """Check whether a member set describes servers like a member's."""
        described = self.member_sets[member_set].request
        return described == member.request or (
            member.request in self.needs
            and self.needs[member.request] == self.needs.get(described)
        )

    # -- member sets ---------------------------------------------------------

    def member_sets_in(self, path: Path) -> list[Path]:
        """Return the paths of the member sets at or below a path."""
        return sorted(
            each for each in self.member_sets if is_within(each, path)
        )

    def member_set_of(self, path: Path) -> Path | None:
        """Return the member set that a member's path belongs to, or None.

        The index of a counted member does not matter.
        """
        if path in self.member_sets:
            return None if self.is_counted(path) else path
        stem, index = paths.split_index(path)
        is_indexed = index >= 0 and self.is_counted(stem)
        return stem if is_indexed and not self.is_node(path) else None

    def is_counted(self, member_set: Path) -> bool:
        described = self.member_sets.get(member_set)
        return described is not None and described.count is not None

    def is_node(self, path: Path) -> bool:
        """Check whether a path is that of a member set or of a subgroup."""
        return any(is_within(each, path) for each in self.member_sets)

    def free_path(self, member_set: Path) -> Path:
        """Return the path of the next member of a member set."""
        [path] = self.iter_free_paths(member_set, 1)
        return path

    def iter_free_paths(self, member_set: Path, number: int) -> Iterator[Path]:
        """Return the paths of the next members of a member set.

        They stay valid while only members of this set are added.
        """
        if member_set in self.member_sets and not self.is_counted(member_set):
            return itertools.repeat(member_set, number)
        if not number:
            return iter(())
        # Sets that were left out have members, too.
        present = {each.member_set for each in self.members}
        taken = {each.path for each in self.members}
        taken |= paths.with_ancestors({*self.member_sets, *present})
        free = (path for path in _indexed(member_set) if path not in taken)
        return itertools.islice(free, number)

    # -- numbers -----------------------------------------------------------

    def limit(self, member_set: Path) -> int:
        """Number of members of a member set that may be placed."""
        described = self.member_sets.get(member_set)
        return 0 if described is None else described.limit

    def remaining(self, member_set: Path) -> int:
        """Number of members that may still be placed.

        What the owner has released does not count, unless creates may add
        members.
        """
        described = self.member_sets.get(member_set)
        if described is None:
            return 0
        left = described.limit - len(self.members_of(member_set, *IS_PLACED))
        if described.may_grow:
            return left
        return left - len(self.members_of(member_set, states.Member.RELEASED))

    def remaining_successors(self, member_set: Path) -> int:
        """Number of successors that may still be created."""
        described = self.member_sets.get(member_set)
        if described is None or not self.members_of(member_set, *HAS_SERVER):
            return 0
        return described.max_surge - len(self.successors_of(member_set))

    def number_beyond_count(self, member_set: Path) -> int:
        """Number of placed members beyond those that are always wanted.

        Nothing is held for another server when one of these goes.
        """
        placed = len(self.members_of(member_set, *IS_PLACED))
        described = self.member_sets.get(member_set)
        return max(0, placed - (described.wanted if described else 0))

    def number_leaving(self, member_set: Path) -> int:
        """Number of placed members beyond the limit."""
        placed = len(self.members_of(member_set, *IS_PLACED))
        return max(0, placed - self.limit(member_set))

    def leaving(self, member_set: Path) -> list[Member]:
        """Return the members shown as LEAVING: those with the last paths.

        Only their number counts: whichever server goes, one fewer leaves.
        """
        members = self.members_of(member_set, *HAS_SERVER)
        if member_set not in self.member_sets:
            return members
        return members[len(members) - self.number_leaving(member_set) :]


def by_path(member: Member) -> tuple[Path, int]:
    """Key that orders members by their paths, indexes as numbers."""
    return paths.split_index(member.path or '')


def is_within(path: Path, ancestor: Path) -> bool:
    """Check whether a path is at or below another; '' is the group."""
    return ancestor in ('', path) or path.startswith(f'{ancestor}/')


def _indexed(stem: Path) -> Iterator[Path]:
    return (f'{stem}-{index}' for index in itertools.count())

# SPDX-License-Identifier: Apache-2.0
"""Model of a group whose servers come and go, on a cloud that is never full.

It decides which member a server becomes, which creates are refused, and what
is left when servers go or the definition changes. It shares no code with the
product. A server that is gone counts as gone at once.

A *successor* is a row with ``succeeds``: the hint that it was created by. It
becomes a member when the server that it names goes, or a number is free.
"""

import dataclasses
import re

HELD, ACTIVE, LEAVING = 'HELD', 'ACTIVE', 'LEAVING'
TENTATIVE, FAILED, RELEASED = 'TENTATIVE', 'FAILED', 'RELEASED'
PLACED, VACANT = (HELD, ACTIVE), (TENTATIVE, FAILED)


def firmware(image):
    """Return what the scheduler is asked for by an image."""
    return 'uefi' if image == 'cirros-uefi' else 'any'


def are_alike(image, other):
    """Check whether servers with two images request the same."""
    return firmware(image) == firmware(other)


def split(path):
    """Split ``w-12`` into ``w`` and 12; another path into itself and -1."""
    found = re.fullmatch(r'(.+)-(\d+)', path)
    return (found[1], int(found[2])) if found else (path, -1)


@dataclasses.dataclass(frozen=True)
class Described:
    """A member set of a definition; without a count one single member."""

    image: str = 'cirros'
    count: int | None = None
    max_count: int | None = None
    max_surge: int = 0

    @property
    def wanted(self):
        return 1 if self.count is None else self.count

    @property
    def limit(self):
        return self.wanted if self.max_count is None else self.max_count


@dataclasses.dataclass
class Row:
    """A member, or a successor; its path is None if it gets any name.

    A server with an image like the described one counts as one with that:
    ``own_image`` is what it really has.
    """

    member_set: str
    path: str | None
    status: str
    image: str
    server: int | None = None
    succeeds: str | None = None
    own_image: str | None = None
    is_pending: bool = False

    @property
    def is_named_successor(self):
        """True if it waits for the server with its own path."""
        return self.succeeds is not None and self.succeeds == self.path


class Refused(Exception):
    """A request that the API refuses, with a status code."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class GrowthModel:
    """A group; servers are numbered in the order of their creation.

    :ivar definition: {path: Described}
    """

    def __init__(self, definition):
        self.definition, self.rows, self.last_server = {}, [], 0
        self.put(definition)

    # -- rows ----------------------------------------------------------------

    def members(self, member_set, *statuses):
        """Return the members of a set in the order of their indexes."""
        found = [
            row
            for row in self.rows
            if row.member_set == member_set
            and row.succeeds is None
            and (not statuses or row.status in statuses)
        ]
        return sorted(found, key=lambda row: split(row.path))

    def successors(self, member_set=None):
        """Return the successors of a member set, or all."""
        return [
            row
            for row in self.rows
            if row.succeeds is not None
            and member_set in (None, row.member_set)
        ]

    def remove(self, rows):
        self.rows = [
            row for row in self.rows if not any(row is each for each in rows)
        ]

    def add(self, member_set, path, status, succeeds=None):
        image = self.definition[member_set].image
        row = Row(member_set, path, status, image, succeeds=succeeds)
        self.rows.append(row)
        return row

    def free_path(self, member_set):
        """Return the lowest path that nothing has."""
        if self.definition[member_set].count is None:
            return member_set
        taken = {row.path for row in self.rows}
        names = (f'{member_set}-{n}' for n in range(len(taken) + 1))
        return next(each for each in names if each not in taken)

    def free_places(self, member_set):
        """Return how many more members may be placed.

        A released one takes its place along where creates add none.
        """
        described = self.definition[member_set]
        placed = len(self.members(member_set, *PLACED))
        if described.max_count is None:
            placed += len(self.members(member_set, RELEASED))
        return described.limit - placed

    def free_surge(self, member_set):
        """Return how many more successors there may be."""
        if not self.members(member_set, ACTIVE):
            return 0
        surge = self.definition[member_set].max_surge
        return surge - len(self.successors(member_set))

    # -- creates -------------------------------------------------------------

    def create(self, hint, image, number=1):
        """Create servers, all or none; return their numbers.

        :param hint: path, ``''`` for the whole group
        :raises: Refused
        """
        name, sets = self._hinted_sets(hint)
        if name is not None and number > 1:
            raise Refused(400)
        sets = [each for each in sets if self._matches(each, image)]
        if not sets:
            raise Refused(409)
        before = [dataclasses.replace(row) for row in self.rows]
        first = self.last_server + 1
        for _server in range(number):
            row = (
                self._choose(sets, hint, image)
                if name is None
                else self._choose_named(sets[0], name, image)
            )
            if row is None:
                self.rows, self.last_server = before, first - 1
                raise Refused(self._refusal(sets, name))
            self._start(row, image)
        self._settle()
        return [*range(first, self.last_server + 1)]

    def _hinted_sets(self, hint):
        """Return (name of the one member, or None, paths of member sets)."""
        stem, index = split(hint)
        if hint in self.definition and self.definition[hint].count is None:
            return hint, [hint]
        if index >= 0 and stem in self.definition:
            return hint, [stem]
        sets = [path for path in self.definition if hint in ('', path)]
        if not sets:
            raise Refused(404)
        return None, sorted(sets)

    def _matches(self, member_set, image):
        images = [
            row.image
            for row in self.rows
            if row.member_set == member_set and row.is_pending
        ]
        images.append(self.definition[member_set].image)
        return any(are_alike(image, each) for each in images)

    def _choose(self, sets, hint, image):
        """Take a hold, else a described member, else grow, else succeed."""
        for each in sets:
            for row in self.members(each, HELD):
                if are_alike(row.image, image):
                    return row
        for each in sets:
            for row in (
                *self.members(each, *VACANT),
                *self.members(each, HELD),
            ):
                return row
        for each in sets:
            if self._may_grow(each):
                return self.add(each, self.free_path(each), ACTIVE)
        for each in sets:
            if self.free_surge(each) > 0:
                return self.add(each, None, ACTIVE, succeeds=hint)
        return None

    def _choose_named(self, member_set, name, image):
        """Take the member with a name, or give the name to another one."""
        named = [r for r in self.members(member_set) if r.path == name]
        if named:
            if named[0].status in (HELD, *VACANT):
                return named[0]
            if named[0].status == ACTIVE and self.free_surge(member_set) > 0:
                return self.add(member_set, name, ACTIVE, succeeds=name)
            return None
        if any(row.path == name for row in self.successors(member_set)):
            return None
        # Holds that suit the server first, then the last ones by name.
        spare = sorted(
            self.members(member_set, HELD, *VACANT),
            key=lambda row: (
                row.status == HELD and are_alike(row.image, image),
                split(row.path),
            ),
        )
        if spare:
            spare[-1].path = name
            return spare[-1]
        if self._may_grow(member_set):
            return self.add(member_set, name, ACTIVE)
        if self.free_surge(member_set) > 0:
            return self.add(member_set, name, ACTIVE, succeeds=member_set)
        return None

    def _may_grow(self, member_set):
        described = self.definition[member_set]
        return (
            described.max_count is not None
            and self.free_places(member_set) > 0
        )

    def _start(self, row, image):
        """Give a row the next server."""
        self.last_server += 1
        row.server, row.status = self.last_server, ACTIVE
        described = self.definition[row.member_set].image
        row.is_pending = not are_alike(image, described)
        row.own_image = image
        row.image = described
        if row.is_pending:
            row.image = self._former_image(row, image)

    def _former_image(self, row, image):
        """Return the image of a description before, as of another server."""
        return next(
            each.image
            for each in self.rows
            if each is not row
            and each.member_set == row.member_set
            and each.is_pending
            and are_alike(each.image, image)
        )

    def _refusal(self, sets, name):
        """Return the status code where no member is left.

        409 is for what ends by itself, or is somebody's by its name.
        """
        is_taken = any(row.path == name for row in self.rows) and name
        has_changing = any(
            self.successors(each) or self.members(each, RELEASED)
            for each in sets
        )
        return 409 if is_taken or has_changing else 403

    # -- servers that go -----------------------------------------------------

    def delete(self, server):
        self._leave(server, TENTATIVE)

    def fail_build(self, server):
        self._leave(server, FAILED)

    def _leave(self, server, status):
        for row in [row for row in self.rows if row.server == server]:
            if row.succeeds is not None:
                self.remove([row])
            row.status, row.server, row.is_pending = status, None, False
        self._settle()

    def _settle(self):
        """Make members of successors, and have as many rows as described."""
        by_age = sorted(self.successors(), key=lambda row: row.server)
        for row in sorted(by_age, key=lambda row: not row.is_named_successor):
            self._follow(row)
        for member_set, described in self.definition.items():
            over = max(0, -self._beside_limit(member_set))
            self.remove(last(self.members(member_set, HELD), over))
            self._describe_missing(member_set, described.wanted)

    def _beside_limit(self, member_set):
        placed = self.members(member_set, *PLACED)
        return self.definition[member_set].limit - len(placed)

    def _describe_missing(self, member_set, wanted):
        """Have as many members without a host as are missing."""
        there = self.members(member_set, *PLACED, RELEASED)
        vacant = self.members(member_set, *VACANT)
        missing = max(0, wanted - len(there))
        self.remove(vacant[missing:])
        for _row in range(missing - len(vacant)):
            self.add(member_set, self.free_path(member_set), TENTATIVE)

    def _follow(self, successor):
        """Make a successor a member if its time has come."""
        member_set, name = successor.member_set, successor.path
        is_counted = self.definition[member_set].count is not None
        if successor.is_named_successor and is_counted:
            placed = self.members(member_set, *PLACED)
            if all(row.path != name for row in placed):
                self._promote(successor, member_set, name)
            return
        for each in sorted(self.definition):
            if each != member_set and not (
                successor.succeeds == ''
                and are_alike(successor.image, self.definition[each].image)
            ):
                continue
            if self.free_places(each) > 0:
                vacant = self.members(each, *VACANT)
                path = vacant[0].path if vacant else self.free_path(each)
                self._promote(successor, each, name or path)
                return

    def _promote(self, successor, member_set, path):
        vacant = self.members(member_set, *VACANT)
        self.remove([row for row in vacant if row.path == path])
        successor.member_set, successor.path = member_set, path
        successor.succeeds = None
        if successor.image == self.definition[member_set].image:
            successor.is_pending = False

    # -- what the owner does -------------------------------------------------

    def put(self, definition):
        """Revise the definition, which describes the same member sets.

        :raises: Refused
        """
        if self._is_given_up():
            raise Refused(409)
        before, self.definition = self.definition, dict(definition)
        self._forget_vacant(RELEASED)
        for row in self.rows:
            self._mark_pending(row, before.get(row.member_set))
        # A successor that becomes a member may make a number free elsewhere.
        for _successor in (None, *self.successors()):
            self._end_needless_holds()
            self._settle()
            self._forget_vacant()
        self._end_needless_holds()
        for member_set, described in self.definition.items():
            held = self.members(member_set, HELD)
            for row in held:
                row.image = described.image
            there = len(held) + len(self.members(member_set, ACTIVE))
            for _row in range(described.wanted - there):
                self.add(member_set, self.free_path(member_set), HELD)
        self._settle()

    def _is_given_up(self):
        """Check whether nothing is left, and something was released."""
        statuses = {row.status for row in self.rows}
        return RELEASED in statuses and statuses.isdisjoint(PLACED)

    def _forget_vacant(self, *statuses):
        gone = (*VACANT, *statuses)
        self.remove([row for row in self.rows if row.status in gone])

    def _mark_pending(self, row, before):
        """Mark a server whose description has got another image."""
        if row.server is None:
            return
        image = self.definition[row.member_set].image
        if image in (row.image, row.own_image):
            row.is_pending, row.image = False, image
        elif not are_alike(row.image, image) or before.image != image:
            row.is_pending = True

    def _end_needless_holds(self):
        """End the holds instead of which there are servers."""
        for member_set, described in self.definition.items():
            servers = len(self.members(member_set, ACTIVE))
            to_hold = max(0, described.wanted - servers)
            self.remove(self.members(member_set, HELD)[to_hold:])

    def release(self, paths):
        """Give up members without servers, until the next revision.

        :raises: Refused
        """
        named = [row for row in self.rows if row.path in paths]
        named = [row for row in named if row.succeeds is None]
        if len(named) < len(paths):
            raise Refused(404)
        if any(row.server is not None for row in named):
            raise Refused(409)
        for row in named:
            row.status = RELEASED
        self._settle()

    # -- what is shown -------------------------------------------------------

    def show(self):
        """Return the members as the API has to show them.

        :returns: [(path, status, server, whether it has grown, server of the
            successor, (firmware, described image) of a pending one)]
        """
        return sorted(
            view
            for member_set in self.definition
            for view in self._show_set(member_set)
        )

    def _show_set(self, member_set):
        described = self.definition[member_set]
        placed = self.members(member_set, *PLACED)
        grown = [row.path for row in placed[described.wanted :]]
        leaving = [row.path for row in placed[described.limit :]]
        shown_successors = self._shown_successors(member_set)
        for row in self.members(member_set):
            pending = (firmware(row.image), described.image)
            yield (
                row.path,
                LEAVING if row.path in leaving else row.status,
                row.server,
                row.path in grown and row.path not in leaving,
                shown_successors.get(row.path),
                pending if row.is_pending else None,
            )

    def _shown_successors(self, member_set):
        """Return {path: successor}; any server may be the first to go."""
        successors = self.successors(member_set)
        successors.sort(key=lambda row: row.server)
        named = [row for row in successors if row.is_named_successor]
        shown = {row.path: row.server for row in named}
        waiting = [row.server for row in successors if row not in named]
        free = [
            row.path
            for row in self.members(member_set, ACTIVE)
            if row.path not in shown
        ]
        return shown | dict(zip(free, waiting, strict=False))


def last(rows, number):
    """Return the last rows, so many."""
    return rows[max(0, len(rows) - number) :]

# SPDX-License-Identifier: Apache-2.0
"""What has to be: groups, servers and strangers on a few providers.

It counts in seats, and knows nothing of holds, rows or Placement.
"""

import collections
import copy
import dataclasses

from nova_groupext.objects import states

Member = states.Member
Group = states.Group


@dataclasses.dataclass(frozen=True)
class Seat:
    """A member, and the server that owns its capacity."""

    status: Member
    provider: str
    server: str | None = None

    @property
    def is_owned(self):
        return self.status == Member.HELD or self.server is not None


@dataclasses.dataclass
class Seats:
    """A group: its members by path, and what has happened to it."""

    members: dict
    is_alone: bool
    was_held: bool = False
    has_expired: bool = False

    def status(self):
        seats = self.members.values()
        if not self.was_held:
            return Group.UNDECIDED
        if any(seat.status == Member.HELD for seat in seats):
            return Group.HELD
        if any(seat.server for seat in seats):
            return Group.ACTIVE
        return Group.RELEASED

    def is_current(self):
        holds = self.status() in states.GROUP_WITH_HOLDS
        return holds and not self.has_expired

    def owned(self):
        """Return the provider of each member that has a place."""
        return [s.provider for s in self.members.values() if s.is_owned]

    def wanted(self):
        """Return {provider: how many members wait for a seat there}."""
        return collections.Counter(
            seat.provider
            for seat in self.members.values()
            if seat.status == Member.TENTATIVE
        )


class Model:
    """All that is on some providers.

    :ivar groups: {uuid: Seats}
    :ivar strangers: {consumer: (provider, seats)}
    :param providers: {provider: how many seats it has}
    """

    def __init__(self, providers):
        self.providers = providers
        self.groups = {}
        self.strangers = {}

    def copy(self):
        return copy.deepcopy(self)

    def shown(self):
        """Return {uuid: (status, members)} of the groups."""
        return {
            uuid: (group.status(), group.members)
            for uuid, group in self.groups.items()
        }

    def there(self, *statuses):
        """Return [(uuid, path)] of the members in one of some states."""
        return [
            (uuid, path)
            for uuid, group in self.groups.items()
            for path, seat in group.members.items()
            if seat.status in statuses
        ]

    def served(self):
        """Return [(uuid, path)] of the members whose server owns a seat."""
        return [
            (uuid, path)
            for uuid, path in self.there(*Member)
            if self.seat(uuid, path).server
        ]

    def seat(self, uuid, path):
        return self.groups[uuid].members[path]

    # -- room --------------------------------------------------------------

    def used(self, provider):
        """Return how many seats members and strangers have."""
        owned = sum(g.owned().count(provider) for g in self.groups.values())
        return owned + sum(
            seats
            for where, seats in self.strangers.values()
            if where == provider
        )

    def is_kept(self, provider):
        """Tell whether a group has the provider to itself."""
        return any(
            group.is_alone and provider in group.owned()
            for group in self.groups.values()
        )

    def occupied(self, provider):
        """Return how many seats are taken, by fillers too."""
        if self.is_kept(provider):
            return self.providers[provider]
        return self.used(provider)

    def room(self, provider):
        return self.providers[provider] - self.occupied(provider)

    def fits(self, uuid):
        group = self.groups[uuid]
        return all(
            many <= self.room(provider)
            and not (group.is_alone and self.used(provider))
            for provider, many in group.wanted().items()
        )

    # -- changes -----------------------------------------------------------

    def change(self, uuid, path, status, server=None):
        """Change a member; without a server, nobody else owns its seat."""
        members = self.groups[uuid].members
        seat = members[path]
        members[path] = Seat(status, seat.provider, server)

    def change_all(self, uuid, old, new):
        for path, seat in self.groups[uuid].members.items():
            if seat.status == old:
                self.change(uuid, path, new)

    def leave(self, uuid, path):
        """A server goes on without its group."""
        seat = self.seat(uuid, path)
        if seat.server:
            self.strangers[seat.server] = seat.provider, 1

    def delete(self, uuid):
        for path in self.groups[uuid].members:
            self.leave(uuid, path)
        del self.groups[uuid]

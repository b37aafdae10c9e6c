# SPDX-License-Identifier: Apache-2.0
"""Reference model of groups, servers and foreign consumers on providers.

The model counts in members, without holds, rows or Placement.
"""

import collections
import copy
import dataclasses

from nova_groupext.objects import states

Member = states.Member
Group = states.Group


@dataclasses.dataclass(frozen=True)
class MemberState:
    """A member, and the server that owns its capacity."""

    status: Member
    provider: str
    server: str | None = None

    @property
    def is_owned(self):
        return self.status == Member.HELD or self.server is not None


@dataclasses.dataclass
class GroupState:
    """A group: its members by path, and its history."""

    members: dict
    is_exclusive: bool
    was_held: bool = False
    has_expired: bool = False

    def status(self):
        members = self.members.values()
        if not self.was_held:
            return Group.UNDECIDED
        if any(member.status == Member.HELD for member in members):
            return Group.HELD
        if any(member.server for member in members):
            return Group.ACTIVE
        return Group.RELEASED

    def is_current(self):
        holds = self.status() in states.GROUP_WITH_HOLDS
        return holds and not self.has_expired

    def owned_providers(self):
        """Return the provider of each member that has capacity."""
        return [s.provider for s in self.members.values() if s.is_owned]

    def waiting_members(self):
        """Return {provider: number of members without capacity there}."""
        return collections.Counter(
            member.provider
            for member in self.members.values()
            if member.status == Member.TENTATIVE
        )


class Model:
    """All consumers of some providers.

    :ivar groups: {uuid: GroupState}
    :ivar foreign_consumers: {consumer: (provider, amount in members)}
    :param providers: {provider: capacity in members}
    """

    def __init__(self, providers):
        self.providers = providers
        self.groups = {}
        self.foreign_consumers = {}

    def copy(self):
        return copy.deepcopy(self)

    def snapshot(self):
        """Return {uuid: (status, members)} of the groups."""
        return {
            uuid: (group.status(), group.members)
            for uuid, group in self.groups.items()
        }

    def members_in(self, *statuses):
        """Return [(uuid, path)] of the members in one of some states."""
        return [
            (uuid, path)
            for uuid, group in self.groups.items()
            for path, member in group.members.items()
            if member.status in statuses
        ]

    def members_with_server(self):
        """Return [(uuid, path)] of the members whose server has capacity."""
        return [
            (uuid, path)
            for uuid, path in self.members_in(*Member)
            if self.member(uuid, path).server
        ]

    def member(self, uuid, path):
        return self.groups[uuid].members[path]

    # -- capacity ----------------------------------------------------------

    def used_slots(self, provider):
        """Return the usage of members and foreign consumers, in members."""
        owned_slots = sum(
            g.owned_providers().count(provider) for g in self.groups.values()
        )
        return owned_slots + sum(
            slots
            for location, slots in self.foreign_consumers.values()
            if location == provider
        )

    def is_exclusive_host(self, provider):
        """Check whether a provider is exclusive to a group."""
        return any(
            group.is_exclusive and provider in group.owned_providers()
            for group in self.groups.values()
        )

    def occupied_slots(self, provider):
        """Return the usage in members, with placeholders."""
        if self.is_exclusive_host(provider):
            return self.providers[provider]
        return self.used_slots(provider)

    def free_slots(self, provider):
        return self.providers[provider] - self.occupied_slots(provider)

    def fits(self, uuid):
        group = self.groups[uuid]
        return all(
            count <= self.free_slots(provider)
            and not (group.is_exclusive and self.used_slots(provider))
            for provider, count in group.waiting_members().items()
        )

    # -- changes -----------------------------------------------------------

    def change(self, uuid, path, status, server=None):
        """Change the status and the server of a member."""
        members = self.groups[uuid].members
        member = members[path]
        members[path] = MemberState(status, member.provider, server)

    def change_all(self, uuid, old, new):
        for path, member in self.groups[uuid].members.items():
            if member.status == old:
                self.change(uuid, path, new)

    def detach_server(self, uuid, path):
        """Make the member's server, if any, a foreign consumer."""
        member = self.member(uuid, path)
        if member.server:
            self.foreign_consumers[member.server] = member.provider, 1

    def delete(self, uuid):
        for path in self.groups[uuid].members:
            self.detach_server(uuid, path)
        del self.groups[uuid]

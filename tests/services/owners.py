# SPDX-License-Identifier: Apache-2.0
"""What our rows say of who owns what."""

import dataclasses

from nova_groupext.objects import states

# The states of a hold and of its member when nothing is under way.
AT_REST = {
    (states.Hold.HELD, states.Member.HELD),
    (states.Hold.REDEEMED, states.Member.ACTIVE),
    (states.Hold.REDEEMED, states.Member.FAILED),
    # A filler has no member.
    (states.Hold.HELD, None),
}


@dataclasses.dataclass
class Owners:
    """Our rows: the holds, and the members by id."""

    holds: list
    members: dict

    def books(self):
        """Return {consumer: allocations} as Placement should have it."""
        return {self._consumer(hold): hold.allocations for hold in self.holds}

    def _consumer(self, hold):
        if hold.status == states.Hold.REDEEMED:
            return self.members[hold.member_id].server_uuid
        return hold.uuid

    def successors(self, books):
        """Return {uuid: member id} of the successors that own something.

        :param books: {consumer: allocations} of Placement
        """
        rows = [
            row
            for row in self.holds
            if row.status == states.Hold.WRITING and row.otherwise is not None
        ]
        for side in (rows, [row.turned_back() for row in rows]):
            owning = [each for each in side if each and each.allocations]
            if owning and all(
                books.get(each.uuid) == each.allocations for each in owning
            ):
                return {each.uuid: each.member_id for each in owning}
        return {}

    def pairs(self):
        """Return {(state of a hold, state of its member)}; None: a filler."""
        return {
            (hold.status, member and member.status)
            for hold, member in self._owned()
        }

    def settled(self, group):
        """Return the status that a group at rest has to have."""
        if group.status not in (
            *states.GROUP_WITH_HOLDS,
            states.Group.RELEASED,
        ):
            return group.status
        statuses = {
            hold.status
            for hold, member in self._owned()
            if hold.group_id == group.id and not hold.is_placeholder
        }
        if states.Hold.HELD in statuses:
            return states.Group.HELD
        has_shelved = any(
            member.status == states.Member.SHELVED for member in group.members
        )
        if states.Hold.REDEEMED in statuses or has_shelved:
            return states.Group.ACTIVE
        return states.Group.RELEASED

    def _owned(self):
        return [
            (hold, self.members.get(hold.member_id)) for hold in self.holds
        ]

    def promised(self):
        """Return [(promised hold, member)] of the members that have one."""
        return [
            (hold, member)
            for hold, member in self._owned()
            if member and hold.status in states.HOLD_COMMITTED
        ]

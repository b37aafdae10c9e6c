# SPDX-License-Identifier: Apache-2.0
"""Owners of capacity by our rows."""

import dataclasses

from nova_groupext.objects import states

# The states of a hold and of its member when nothing is under way.
AT_REST = {
    (states.Hold.HELD, states.Member.HELD),
    (states.Hold.REDEEMED, states.Member.ACTIVE),
    (states.Hold.REDEEMED, states.Member.FAILED),
    # A placeholder has no member.
    (states.Hold.HELD, None),
}


@dataclasses.dataclass
class Ownership:
    """The rows of holds, and the members by id."""

    holds: list
    members: dict

    def expected_allocations(self):
        """Return the {consumer: allocations} that Placement should have."""
        return {self._consumer(hold): hold.allocations for hold in self.holds}

    def _consumer(self, hold):
        if hold.status == states.Hold.REDEEMED:
            return self.members[hold.member_id].server_uuid
        return hold.uuid

    def successors(self, allocations):
        """Return {uuid: member id} of the successors with allocations.

        :param allocations: {consumer: allocations} in Placement
        """
        pending = [
            row
            for row in self.holds
            if row.status == states.Hold.WRITING
            and row.if_compensated is not None
        ]
        for rows in (pending, [row.as_compensated() for row in pending]):
            filled_rows = [each for each in rows if each and each.allocations]
            if filled_rows and all(
                allocations.get(each.uuid) == each.allocations
                for each in filled_rows
            ):
                return {each.uuid: each.member_id for each in filled_rows}
        return {}

    def state_pairs(self):
        """Return {(state of a hold, state of its member or None)}."""
        return {
            (hold.status, member and member.status)
            for hold, member in self._holds_with_members()
        }

    def status_at_rest(self, group):
        """Return the status that a group should have at rest."""
        if group.status not in (
            *states.GROUP_WITH_HOLDS,
            states.Group.RELEASED,
        ):
            return group.status
        statuses = {
            hold.status
            for hold, member in self._holds_with_members()
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

    def _holds_with_members(self):
        return [
            (hold, self.members.get(hold.member_id)) for hold in self.holds
        ]

    def committed_holds(self):
        """Return [(hold, member)] of all committed holds."""
        return [
            (hold, member)
            for hold, member in self._holds_with_members()
            if member and hold.status in states.HOLD_COMMITTED
        ]

# SPDX-License-Identifier: Apache-2.0
"""The holds that a group already has when it is planned again.

Servers stay where they are. Holds may move, and their capacity counts as free
for their own group.
"""

import dataclasses

from nova_groupext.objects import states
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.hold import VRTHold


@dataclasses.dataclass(frozen=True)
class CurrentHolds:
    """The committed holds of a group.

    :ivar servers: {member path: its VRTHold} of members that have a server, or
        whose redeem is under way
    :ivar held: {member path: its VRTHold} of members in state HELD
    :ivar reservations: {member path: VRTHold} of the resize reservations
    :ivar placeholder_holds: [VRTHold] of the placeholders on exclusive hosts
    :ivar shelved: {member path: resolved request of its server} of the members
        whose server is shelved: it returns as it was, however it is described
    """

    servers: dict[str, VRTHold]
    held: dict[str, VRTHold]
    reservations: dict[str, VRTHold]
    placeholder_holds: list[VRTHold]
    shelved: dict[str, JsonObject]

    @classmethod
    def read(cls, context, group, adopted=()):
        """Return the CurrentHolds of a group.

        :param adopted: {member path: VRTHold} with the locations of further
            servers
        """
        committed = VRTHold.list_by_group(
            context, group.id, *states.HOLD_COMMITTED
        )
        holds = {hold.member_id: hold for hold in committed}
        reservation_of = {
            hold.resize_member_id: hold
            for hold in committed
            if hold.is_resize_reservation and hold.status == states.Hold.HELD
        }
        servers, held, reservations, shelved = {}, {}, {}, {}
        for member in group.members:
            if member.status == states.Member.SHELVED:
                shelved[member.path] = member.current_request
            if (
                member.id in holds
                and member.status in states.MEMBER_HAS_SERVER
            ):
                servers[member.path] = holds[member.id]
            elif member.id in holds and member.status == states.Member.HELD:
                held[member.path] = holds[member.id]
            if member.id in reservation_of:
                reservations[member.path] = reservation_of[member.id]
        placeholder_holds = [hold for hold in committed if hold.is_placeholder]
        servers.update(adopted)
        return cls(servers, held, reservations, placeholder_holds, shelved)

    @property
    def all(self):
        """List of all these VRTHolds."""
        return [*self.servers.values(), *self.movable]

    @property
    def movable(self):
        """List of the VRTHolds that may move to another host."""
        return [
            *self.held.values(),
            *self.reservations.values(),
            *self.placeholder_holds,
        ]


NO_HOLDS = CurrentHolds(
    servers={}, held={}, reservations={}, placeholder_holds=[], shelved={}
)

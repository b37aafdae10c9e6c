# SPDX-License-Identifier: Apache-2.0
"""What a group has already when it is planned once more.

Servers stay where they are. What is held may move, and takes no room from its
own group.
"""

import dataclasses

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold


@dataclasses.dataclass(frozen=True)
class Standing:
    """The promised holds of a group.

    :ivar servers: {member path: its VRTHold} of members that are servers, or
        become one at this moment
    :ivar held: {member path: its VRTHold} of members that are held, those
        too that become a server by being given one
    :ivar growths: {member path: VRTHold} of what is held for the resizes of
        servers
    :ivar fillers: [VRTHold] of what keeps others off its hosts
    """

    servers: dict[str, VRTHold]
    held: dict[str, VRTHold]
    growths: dict[str, VRTHold]
    fillers: list[VRTHold]

    @classmethod
    def of(cls, context, group):
        promised = VRTHold.list_by_group(context, group.id, *states.PROMISED)
        holds = {hold.member_id: hold for hold in promised}
        growth_of = {
            hold.grows_id: hold
            for hold in promised
            if hold.is_growth and hold.status == states.Hold.HELD
        }
        servers, held, growths = {}, {}, {}
        for member in group.members:
            if member.id in holds and member.status in states.IN_USE:
                servers[member.path] = holds[member.id]
            elif member.id in holds and member.status == states.Member.HELD:
                held[member.path] = holds[member.id]
            if member.id in growth_of:
                growths[member.path] = growth_of[member.id]
        fillers = [hold for hold in promised if hold.is_filler]
        return cls(servers, held, growths, fillers)

    @property
    def free(self):
        """The holds that may leave their places."""
        return [*self.held.values(), *self.growths.values(), *self.fillers]

    def adopting(self, seats):
        """Return the same with some servers more.

        :param seats: {member path: VRTHold} that says where each of them is
        """
        servers = {**self.servers, **seats}
        return dataclasses.replace(self, servers=servers)


NOTHING = Standing(servers={}, held={}, growths={}, fillers=[])

# SPDX-License-Identifier: Apache-2.0
"""Present locations of a group's members, according to our tables.

A member is on the host of its hold; a REDEEMED hold is updated to the
location of its server. A server that moves has two locations until the move
is over. A resize reservation is a further possible location.
"""

import collections
import dataclasses
import itertools
import typing

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.move import VRTMove


class Location(typing.NamedTuple):
    """The host of a member, by Nova's names.

    :ivar host: of the compute service
    :ivar node: of the compute node, which is the planner's id of the host
    """

    host: str
    node: str


@dataclasses.dataclass(frozen=True)
class MemberLocations:
    """The locations of all members of a group.

    :ivar seats: {member path: Location}
    :ivar targets: {path: set of Locations}, destinations of moves under way
    :ivar reservations: {path: Location} of resize reservations
    """

    seats: dict
    targets: dict
    reservations: dict

    @property
    def names(self):
        """Mapping of compute node name to host name, for all locations."""
        return {
            seat.node: seat.host
            for seat in itertools.chain(
                self.seats.values(),
                self.reservations.values(),
                *self.targets.values(),
            )
        }

    def nodes(self, besides=None):
        """Return {path: set of node names}; several for a member that moves.

        :param besides: path of a member that is left out
        """
        found = collections.defaultdict(set)
        for path, seat in self.seats.items():
            found[path].add(seat.node)
        for path, seat in self.reservations.items():
            found[path].add(seat.node)
        for path, seats in self.targets.items():
            found[path].update(seat.node for seat in seats)
        found.pop(besides, None)
        return dict(found)


def of(context, group, draft=None):
    """Return the present locations of the members of a group.

    Members of a prepared swap have both locations. A server that is being
    adopted is located by the hold of the draft's member. Members added or
    removed after the group was loaded are ignored.

    :param group: VRTGroup, of which the members' ids and paths are used
    :param draft: the VRTGroup that revises it, if its members count as well
    :returns: MemberLocations
    """
    parts = [*(draft.members if draft else ()), *group.members]
    paths = {member.id: member.path for member in parts}
    targets = collections.defaultdict(set)
    for move in VRTMove.list_by_group(context, group.id):
        if move.member_id in paths:
            targets[paths[move.member_id]].add(Location(move.host, move.node))
    seats, reservations = {}, {}
    holds = VRTHold.list_by_group(context, group.id, *states.HOLD_COMMITTED)
    for hold in holds:
        seat = Location(hold.host, hold.node)
        if hold.resize_member_id in paths:
            reservations[paths[hold.resize_member_id]] = seat
        elif hold.member_id in paths:
            seats[paths[hold.member_id]] = seat
    if draft or any(h.status == states.Hold.EXCHANGING for h in holds):
        for hold in VRTHold.list_open(context, group.id):
            path = paths.get(hold.owner_id)
            if not hold.allocations or not path:
                continue
            targets[path].add(Location(hold.host, hold.node))
            if hold.status == states.Hold.REDEEMED:
                # The hold of a member that adopts a server ends.
                targets[path] |= {seats[path]} if path in seats else set()
                seats[path] = Location(hold.host, hold.node)
    return MemberLocations(seats, dict(targets), reservations)

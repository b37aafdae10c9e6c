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

    :ivar locations: {member path: Location}
    :ivar destinations: {path: set of Locations} of moves under way
    :ivar reservations: {path: Location} of resize reservations
    """

    locations: dict
    destinations: dict
    reservations: dict

    @property
    def host_names(self):
        """Mapping of compute node name to host name, for all locations."""
        return {
            location.node: location.host
            for location in itertools.chain(
                self.locations.values(),
                self.reservations.values(),
                *self.destinations.values(),
            )
        }

    def nodes(self, excluded=None):
        """Return {path: set of node names}; several for a member that moves.

        :param excluded: path of a member that is left out
        """
        nodes = collections.defaultdict(set)
        for path, location in self.locations.items():
            nodes[path].add(location.node)
        for path, location in self.reservations.items():
            nodes[path].add(location.node)
        for path, locations in self.destinations.items():
            nodes[path].update(location.node for location in locations)
        nodes.pop(excluded, None)
        return dict(nodes)


def read(context, group, draft=None):
    """Return the present locations of the members of a group.

    Members of a prepared swap have both locations. A server that is being
    adopted is located by the hold of the draft's member. Members added or
    removed after the group was loaded are ignored.

    :param group: VRTGroup or PresentGroup, of which the members' ids and
        paths are used
    :param draft: the VRTGroup that revises it, if its members count as well
    :returns: MemberLocations
    """
    members = [*(draft.members if draft else ()), *group.members]
    paths = {member.id: member.path for member in members}
    destinations = collections.defaultdict(set)
    for move in VRTMove.list_by_group(context, group.id):
        if move.member_id in paths:
            destinations[paths[move.member_id]].add(
                Location(move.host, move.node)
            )
    locations, reservations = {}, {}
    holds = VRTHold.list_group_locations(context, group.id)
    for hold in holds:
        location = Location(hold.host, hold.node)
        if hold.resize_member_id in paths:
            reservations[paths[hold.resize_member_id]] = location
        elif hold.member_id in paths:
            locations[paths[hold.member_id]] = location
    if draft or any(h.status == states.Hold.EXCHANGING for h in holds):
        open_holds = VRTHold.list_open(context, group.id)
        _add_open_holds(open_holds, paths, locations, destinations)
    return MemberLocations(locations, dict(destinations), reservations)


def _add_open_holds(holds, paths, locations, destinations):
    """Add where members are once a swap or an adoption has ended.

    :param paths: {member id: path}
    """
    for hold in holds:
        path = paths.get(hold.owner_id)
        if not hold.allocations or not path:
            continue
        destinations[path].add(Location(hold.host, hold.node))
        if hold.status == states.Hold.REDEEMED:
            # The hold of a member that adopts a server ends.
            destinations[path] |= (
                {locations[path]} if path in locations else set()
            )
            locations[path] = Location(hold.host, hold.node)

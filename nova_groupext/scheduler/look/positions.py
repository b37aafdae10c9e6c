# SPDX-License-Identifier: Apache-2.0
"""Where the members of a group are, as far as our tables tell.

A member is where its hold is, or was when its server redeemed it: that row
follows the server. A server that moves is at two places until its move is
over. One for whose resize something is held may come to be there.
"""

import collections
import dataclasses
import itertools
import typing

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.move import VRTMove


class Seat(typing.NamedTuple):
    """A place of a member, by Nova's names.

    :ivar host: of the compute service
    :ivar node: of the compute node, which is the planner's id of the host
    """

    host: str
    node: str


@dataclasses.dataclass(frozen=True)
class Positions:
    """All seats of a group.

    :ivar seats: {member path: Seat}
    :ivar targets: {path: set of Seats} of moves under way
    :ivar growths: {path: Seat} that is held for the resize of a server
    """

    seats: dict
    targets: dict
    growths: dict

    @property
    def names(self):
        """{compute node's name: its host's name} of all seats."""
        return {
            seat.node: seat.host
            for seat in itertools.chain(
                self.seats.values(),
                self.growths.values(),
                *self.targets.values(),
            )
        }

    def nodes(self, besides=None):
        """Return {path: set of node names}; several of a member that moves.

        :param besides: path of a member that is left out
        """
        found = collections.defaultdict(set)
        for path, seat in self.seats.items():
            found[path].add(seat.node)
        for path, seat in self.growths.items():
            found[path].add(seat.node)
        for path, seats in self.targets.items():
            found[path].update(seat.node for seat in seats)
        found.pop(besides, None)
        return dict(found)


def of(context, group, draft=None):
    """Read where the members of a group are now.

    While a swap is prepared its members are at both of their places. Servers
    that are being adopted are where the draft's members are. Who has come
    since the group was read, or has left it, is not among them.

    :param group: VRTGroup, of which the members' ids and paths are used
    :param draft: the VRTGroup that revises it, if its members count as well
    :returns: Positions
    """
    parts = [*(draft.members if draft else ()), *group.members]
    paths = {member.id: member.path for member in parts}
    targets = collections.defaultdict(set)
    for move in VRTMove.list_by_group(context, group.id):
        if move.member_id in paths:
            targets[paths[move.member_id]].add(Seat(move.host, move.node))
    seats, growths = {}, {}
    holds = VRTHold.list_by_group(context, group.id, *states.PROMISED)
    for hold in holds:
        seat = Seat(hold.host, hold.node)
        if hold.grows_id in paths:
            growths[paths[hold.grows_id]] = seat
        elif hold.member_id in paths:
            seats[paths[hold.member_id]] = seat
    if draft or any(h.status == states.Hold.EXCHANGING for h in holds):
        for hold in VRTHold.list_open(context, group.id):
            path = paths.get(hold.member_id or hold.grows_id)
            if not hold.allocations or not path:
                continue
            targets[path].add(Seat(hold.host, hold.node))
            if hold.status == states.Hold.REDEEMED:
                # What was held for one that is adopted leaves.
                targets[path] |= {seats[path]} if path in seats else set()
                seats[path] = Seat(hold.host, hold.node)
    return Positions(seats, dict(targets), growths)

# SPDX-License-Identifier: Apache-2.0
"""Marks on the candidates of members' servers.

Nova's scheduler copies and passes allocation requests along. The one candidate
that a redeemed server is given is its own hold: the mark tells the filter and
the claim that it came through the redeem door. A candidate for a move is
marked by the filter, so that the weigher and the claim know what it knows.
"""

import copy

# Consumer types (1.38) and what they bring along: generations, mappings.
PLACEMENT_VERSION = '1.38'


class HeldAllocation(dict):
    """An allocation request of Placement that is a hold.

    :ivar hold: the VRTHold
    """

    def __init__(self, hold):
        super().__init__(allocations=hold.allocations, mappings=hold.mappings)
        self.hold = hold

    def __deepcopy__(self, memo):
        duplicate = type(self)(self.hold)
        duplicate.update(copy.deepcopy(dict(self), memo))
        return duplicate


class GrowthAllocation(HeldAllocation):
    """An allocation request that is held for the resize of a server."""


class MovingAllocation(dict):
    """An allocation request on a host that a member may move to.

    :ivar move: the moving.Move that knows of it
    :ivar seat: positions.Seat, of the host
    :ivar growth: the VRTHold that it is, if it is one
    """

    def __init__(self, request, move, seat, growth=None):
        super().__init__(request)
        self.move = move
        self.seat = seat
        self.growth = growth

    def __deepcopy__(self, memo):
        return MovingAllocation(
            copy.deepcopy(dict(self), memo), self.move, self.seat, self.growth
        )


class HeldProvider(dict):
    """Provider summaries of nothing but the hold's host.

    :ivar hold: the VRTHold
    """

    def __init__(self, hold):
        super().__init__({hold.provider_uuid: {}})
        self.hold = hold


def of(host_state):
    """Return the hold that a host is the candidate for, or None."""
    for candidate in host_state.allocation_candidates:
        if type(candidate) is HeldAllocation:
            return candidate.hold
    return None


def growth_of(allocation):
    """Return what is held for a resize, if an allocation request is that."""
    if isinstance(allocation, GrowthAllocation):
        return allocation.hold
    if isinstance(allocation, MovingAllocation):
        return allocation.growth
    return None


def of_move(host_state):
    """Return a MovingAllocation of a host, or None: all of them are, or none.

    Every server passes here, on every host.
    """
    for candidate in host_state.allocation_candidates:
        return candidate if isinstance(candidate, MovingAllocation) else None
    return None

# SPDX-License-Identifier: Apache-2.0
"""Allocation requests that are marked as a hold, a reservation or a move.

Nova's scheduler copies allocation requests and passes them on. The single
candidate of a redeemed server is its own hold: the mark tells the filter and
the claim that the request came through the redeem path. The filter marks a
candidate for a move, so that the weigher and the claim have its data.
"""

import copy

# Consumer types (1.38), and with them consumer generations and mappings.
PLACEMENT_VERSION = '1.38'


class HoldRequest(dict):
    """An allocation request that is the allocation of a hold.

    :ivar hold: the VRTHold
    """

    def __init__(self, hold):
        super().__init__(allocations=hold.allocations, mappings=hold.mappings)
        self.hold = hold

    def __deepcopy__(self, memo):
        duplicate = type(self)(self.hold)
        duplicate.update(copy.deepcopy(dict(self), memo))
        return duplicate


class ResizeRequest(HoldRequest):
    """An allocation request that is a resize reservation of a server."""


class MoveRequest(dict):
    """An allocation request on a host that a member may move to.

    :ivar move: the destinations.Move that the request belongs to
    :ivar location: Location of the host
    :ivar reservation: the resize reservation (VRTHold) that it is, or None
    """

    def __init__(self, request, move, location, reservation=None):
        super().__init__(request)
        self.move = move
        self.location = location
        self.reservation = reservation

    def __deepcopy__(self, memo):
        return MoveRequest(
            copy.deepcopy(dict(self), memo),
            self.move,
            self.location,
            self.reservation,
        )


class HoldSummaries(dict):
    """Provider summaries that contain only the host of a hold.

    :ivar hold: the VRTHold
    """

    def __init__(self, hold):
        super().__init__({hold.provider_uuid: {}})
        self.hold = hold


def find_hold(host_state):
    """Return the hold for which a host is the candidate, or None."""
    for candidate in host_state.allocation_candidates:
        if type(candidate) is HoldRequest:
            return candidate.hold
    return None


def reservation_of(allocation):
    """Return the resize reservation of an allocation request, or None."""
    if isinstance(allocation, ResizeRequest):
        return allocation.hold
    if isinstance(allocation, MoveRequest):
        return allocation.reservation
    return None


def find_move(host_state):
    """Return a MoveRequest of a host, or None.

    Either all candidates of a host are MoveRequests or none is: only the first
    one is read, as this runs for every server on every host.
    """
    for candidate in host_state.allocation_candidates:
        return candidate if isinstance(candidate, MoveRequest) else None
    return None

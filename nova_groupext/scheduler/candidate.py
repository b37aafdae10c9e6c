# SPDX-License-Identifier: Apache-2.0
"""The one candidate that a redeemed server is given: its own hold.

Nova's scheduler copies and passes allocation requests along; this mark tells
the filter and the claim that a candidate came through the redeem door.
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
        duplicate = HeldAllocation(self.hold)
        duplicate.update(copy.deepcopy(dict(self), memo))
        return duplicate


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
        if isinstance(candidate, HeldAllocation):
            return candidate.hold
    return None

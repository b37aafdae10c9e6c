# SPDX-License-Identifier: Apache-2.0
"""Detection of the providers that have changed since the last reaper round.

Two requests suffice for the whole cloud. A POST that fills or empties a
consumer, and a change of an inventory, raise the generation of the provider.
A DELETE of allocations does not. It shows in the total of all holds, whose
difference from the rows changes.
"""

import collections
import time

from nova_groupext.objects.hold import VRTHold

# In a busy cloud some hold is just being filled or emptied most of the time:
# its row and its allocation change one after the other. So a difference that
# is new is read again before it counts.
MAX_ATTEMPTS = 4
PAUSE = 0.5


class ChangedProviders:
    """The providers that were found consistent, from round to round.

    The first round has to read all.
    """

    def __init__(self):
        # {provider: generation} as this round has found it.
        self._generations = {}
        # {key: [generation]} of what was consistent, last round and this one.
        self._previous, self._current = {}, {}
        # Difference of Placement's totals from the rows.
        self._difference = None

    def begin(self, context, placement_client):
        """Begin a round.

        :raises: PlacementUnavailable
        """
        self._previous, self._current = self._current, {}
        difference = self._read_difference(context, placement_client)
        if difference != self._difference:
            self._previous = {}
        self._difference = difference
        # Read before the providers: the next round finds a later change.
        self._generations = placement_client.generations(context)

    def _read_difference(self, context, placement_client):
        """Return the former difference if that is found, else a new one."""
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                time.sleep(PAUSE)
            difference = _difference(context, placement_client)
            if self._difference in (None, difference):
                break
        return difference

    def are_due(self, key, providers):
        """Check whether providers may have changed since they were consistent.

        :param key: identifies the check
        :param providers: their uuids
        """
        generations = [self._generations.get(each) for each in providers]
        if self._previous.get(key) != generations:
            return True
        self._current[key] = generations
        return False

    def mark_consistent(self, key, providers):
        """Store that providers are consistent; see are_due()."""
        self._current[key] = [
            self._generations.get(each) for each in providers
        ]


def _difference(context, placement_client):
    """Return {class: Placement's total minus that of the rows}.

    `holds` is the difference in number.
    """
    count, amounts = placement_client.allocated_totals(context)
    difference = collections.Counter(amounts)
    holds = VRTHold.held_allocations(context)
    for (allocations,) in holds:
        for allocation in allocations.values():
            difference.subtract(allocation['resources'])
    return {'holds': count - len(holds), **difference}

# SPDX-License-Identifier: Apache-2.0
"""Detection of providers that only our own requests have changed.

Such a provider is not overcommitted: Placement compares a request with the
capacity, and only a request at the same moment could make that wrong. Each
accepted request raises the generation of each of its providers by one, and so
does a change of an inventory.
"""

import collections

# Number of providers from which on two requests about all providers of the
# cloud are faster than two about each of these. With 10,000 providers such a
# request takes as long as 16 others, with 1,000 as long as two.
MANY_PROVIDERS = 10


class OwnChanges:
    """Our requests between two readings of the providers' generations.

    :param holds: VRTHolds that will be filled
    """

    def __init__(self, context, placement_client, holds):
        self._context = context
        self._placement_client = placement_client
        self._providers = {p for hold in holds for p in hold.allocations}
        self._requests = collections.Counter()
        self._before = (
            placement_client.generations(context)
            if len(self._providers) >= MANY_PROVIDERS
            else None
        )

    def count(self, holds):
        """Count one request that Placement has accepted.

        :param holds: VRTHolds that it has filled
        """
        self._requests.update({p for hold in holds for p in hold.allocations})

    def changed_by_others(self):
        """Return the providers that other requests may have changed.

        :returns: set of uuids; all of a few providers, which are not compared
        :raises: PlacementUnavailable
        """
        if self._before is None:
            return self._providers
        after = self._placement_client.generations(self._context)
        return {
            provider
            for provider in self._providers
            if provider not in self._before
            or after.get(provider)
            != self._before[provider] + self._requests[provider]
        }

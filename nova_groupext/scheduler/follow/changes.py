# SPDX-License-Identifier: Apache-2.0
"""What has to be read of Placement, and what is as it was.

Two requests tell that for the whole cloud. Whoever fills a consumer, or
empties it by a POST, or changes an inventory raises the generation of the
provider. A DELETE of allocations does not: that is seen in the total of what
all holds own, which differs from the rows by another amount then.
"""

import collections

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold


class Changes:
    """What a planner has found well, from round to round.

    Whoever has asked nothing yet, or was not answered, has to read all.
    """

    def __init__(self):
        # {provider: generation} as this round has found it.
        self._generations = {}
        # {key: [generation]} of what was well in the last round, and in this.
        self._before, self._now = {}, {}
        # By how much Placement and the rows have differed.
        self._difference = None

    def begin(self, context, ledger):
        """Begin a round.

        :raises: PlacementUnavailable
        """
        self._before, self._now = self._now, {}
        difference = _difference(context, ledger)
        if difference != self._difference:
            self._before = {}
        self._difference = difference
        # Read before the providers are: what changes later is found later.
        self._generations = ledger.generations(context)

    def are_due(self, key, providers):
        """Check whether anything may have changed since all was well.

        :param key: under which is noted what was found
        :param providers: their uuids
        """
        found = [self._generations.get(each) for each in providers]
        if self._before.get(key) != found:
            return True
        self._now[key] = found
        return False

    def note(self, key, providers):
        """Note that all was well, as are_due() was asked about it."""
        self._now[key] = [self._generations.get(each) for each in providers]


def _difference(context, ledger):
    """Return by how much Placement has more than the rows, by class."""
    count, amounts = ledger.total(context)
    difference = collections.Counter(amounts)
    holds = VRTHold.list_by_status(context, states.Hold.HELD)
    for hold in holds:
        for allocation in hold.allocations.values():
            difference.subtract(allocation['resources'])
    return {'holds': count - len(holds), **difference}

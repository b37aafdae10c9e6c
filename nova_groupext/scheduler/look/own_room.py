# SPDX-License-Identifier: Apache-2.0
"""The room that a group's own holds take: for the group itself it is free.

Placement does not offer hosts that these fill, so they are asked about
without a look at what is free on them.
"""

import collections

from nova_groupext.scheduler import ledger as ledgers
from nova_groupext.scheduler.look import blind_spots


class OwnRoom:
    """The hosts on which a group holds something.

    :param ledger: ledger.Ledger
    :param standing: standing.Standing
    """

    def __init__(self, context, ledger, standing):
        self._context = context
        self._ledger = ledger
        self._holds = standing.free
        self._inventories = {
            hold.provider_uuid: ledger.inventories(context, hold.provider_uuid)
            for hold in self._holds
        }

    def ways(self, resources):
        """Return {root provider: an allocation request} for one member.

        A seat that the group has is a way for whoever needs the same; for
        others only the root provider of a host is looked at.

        :param resources: Nova's ResourceRequest
        """
        request = resources.merged_resources()
        found = {
            provider: {
                'allocations': {provider: {'resources': request}},
                'mappings': {'': [provider]},
            }
            for provider in self._suitable(resources)
            if _is_allowed(self._inventories[provider], request)
        }
        for hold in self._holds:
            if total(hold.allocations) == request:
                found[hold.provider_uuid] = {
                    'allocations': hold.allocations,
                    'mappings': hold.mappings,
                }
        return found

    def _suitable(self, resources):
        """Return those hosts that have what cannot be counted."""
        query = blind_spots.providers_query(resources)
        if not self._holds or query is None:
            return set()
        found = self._ledger.providers(self._context, query)
        return self._inventories.keys() & set(found)

    def unseen(self, resources, told):
        """Return the hosts of the group's holds of which too little is known.

        What a child of their root provider has is not looked at there.

        :param resources: Nova's ResourceRequest
        :param told: root providers that something is known of
        """
        request = resources.merged_resources()
        return {
            provider
            for provider, inventories in self._inventories.items()
            if provider not in told and request.keys() - inventories.keys()
        }

    def add_to(self, free):
        """Add what is held to what is free.

        :param free: {root provider: {(provider, resource class): amount}} of
            the hosts that were asked about; others come in
        """
        for provider, inventories in self._inventories.items():
            if provider not in free:
                used = self._ledger.used(self._context, provider) or {}
                free[provider] = collections.Counter(
                    {
                        (provider, name): max(0, int(amount))
                        for name, amount in ledgers.left(
                            inventories, used
                        ).items()
                    }
                )
        for hold in self._holds:
            for provider, allocation in hold.allocations.items():
                for name, amount in allocation['resources'].items():
                    free[hold.provider_uuid][provider, name] += amount


def total(allocations):
    """Return {class: amount} of allocations, on all providers together."""
    amounts = collections.Counter()
    for allocation in allocations.values():
        amounts.update(allocation['resources'])
    return dict(amounts)


def _is_allowed(inventories, request):
    """Tell whether one consumer may have as much of each, if it is free."""
    return all(
        name in inventories
        and inventories[name]['min_unit']
        <= amount
        <= inventories[name]['max_unit']
        and amount % inventories[name]['step_size'] == 0
        for name, amount in request.items()
    )

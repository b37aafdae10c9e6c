# SPDX-License-Identifier: Apache-2.0
"""The room that a group's own holds take: for the group itself it is free.

Placement does not offer hosts that these fill, so they are asked about
without a look at what is free on them.
"""

import collections
from urllib import parse

from nova_groupext.scheduler import ledger as ledgers

# What a query for candidates and one for providers have in common.
_WANTED = ('required', 'member_of', 'in_tree')


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
        query = parse.parse_qs(resources.to_querystring())
        if not self._holds or not query.keys() <= {
            *('resources', 'root_required', 'limit'),
            *_WANTED,
        }:
            return set()
        wanted = [
            (name, value) for name in _WANTED for value in query.get(name, ())
        ]
        wanted += [
            ('required', traits) for traits in query.get('root_required', ())
        ]
        found = self._ledger.providers(self._context, wanted)
        return self._inventories.keys() & set(found)

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

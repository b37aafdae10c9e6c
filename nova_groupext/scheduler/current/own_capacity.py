# SPDX-License-Identifier: Apache-2.0
"""Capacity of a group's own holds, which is free for the group itself.

Placement offers no hosts that these holds fill. So this module asks Placement
about these hosts without regard to their free capacity.
"""

import collections

from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import queries


class OwnCapacity:
    """The hosts on which a group has holds that may move.

    :param placement_client: PlacementClient
    :param current: CurrentHolds
    :param check_deadline: called before each request; raises OutOfTime
    """

    def __init__(self, context, placement_client, current, check_deadline):
        self._context = context
        self._placement_client = placement_client
        self._holds = current.movable
        self._inventories = {}
        for provider in sorted({hold.provider_uuid for hold in self._holds}):
            check_deadline()
            self._inventories[provider] = placement_client.inventories(
                context, provider
            )

    def allocation_requests(self, resources):
        """Return {root provider: an allocation request} for one member.

        A hold of exactly the requested amounts is a candidate as it is. Any
        other candidate takes everything from the host's root provider.

        :param resources: Nova's ResourceRequest
        """
        request = resources.merged_resources()
        suitable_hosts = self._suitable_hosts(resources)
        requests = {
            provider: {
                'allocations': {provider: {'resources': request}},
                'mappings': {'': [provider]},
            }
            for provider in suitable_hosts or ()
            if _meets_units(self._inventories[provider], request)
        }
        for hold in self._holds:
            # A child of the root provider may have the traits instead.
            is_nested = hold.allocations.keys() != {hold.provider_uuid}
            may_suit = (
                suitable_hosts is None
                or is_nested
                or hold.provider_uuid in suitable_hosts
            )
            if may_suit and total_amounts(hold.allocations) == request:
                requests[hold.provider_uuid] = {
                    'allocations': hold.allocations,
                    'mappings': hold.mappings,
                }
        return requests

    def _suitable_hosts(self, resources):
        """Return the hosts whose root providers meet traits and aggregates.

        :returns: set of root providers; None if no query can ask for them
        """
        query = queries.providers_query(resources)
        if query is None:
            return None
        if not self._holds:
            return set()
        providers = self._placement_client.providers(self._context, query)
        return self._inventories.keys() & set(providers)

    def unclear_hosts(self, resources, candidates):
        """Return the hosts of holds that may, or may not, suit a request.

        A child of their root provider may have what the root provider lacks.

        :param resources: Nova's ResourceRequest
        :param candidates: root providers with allocation requests
        """
        request = resources.merged_resources()
        return {
            provider
            for provider, inventories in self._inventories.items()
            if provider not in candidates
            and request.keys() - inventories.keys()
        }

    def add_to(self, free):
        """Add the amounts of the holds to the free amounts.

        :param free: {root provider: {(provider, resource class): amount}}; the
            hosts of holds that are missing are inserted
        """
        for provider, inventories in self._inventories.items():
            if provider not in free:
                usages = (
                    self._placement_client.usages(self._context, provider)
                    or {}
                )
                free[provider] = collections.Counter(
                    {
                        (provider, name): max(0, int(amount))
                        for name, amount in client.free_capacity(
                            inventories, usages
                        ).items()
                    }
                )
        for hold in self._holds:
            for provider, allocation in hold.allocations.items():
                for name, amount in allocation['resources'].items():
                    free[hold.provider_uuid][provider, name] += amount


def total_amounts(allocations):
    """Return {resource class: amount} of allocations, over all providers."""
    amounts = collections.Counter()
    for allocation in allocations.values():
        amounts.update(allocation['resources'])
    return dict(amounts)


def _meets_units(inventories, request):
    """Check whether an inventory's units allow a request of one consumer."""
    return all(
        name in inventories
        and inventories[name]['min_unit']
        <= amount
        <= inventories[name]['max_unit']
        and amount % inventories[name]['step_size'] == 0
        for name, amount in request.items()
    )

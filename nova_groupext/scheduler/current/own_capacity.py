# SPDX-License-Identifier: Apache-2.0
"""Capacity of a group's own holds, which is free for the group itself.

Placement offers no hosts that these holds fill. So this module works out their
allocation candidates from queries about providers.
"""

import collections

from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries
from nova_groupext.scheduler.placement import tree_queries

# So many hosts of the cloud take as long in the queries about all providers as
# one own host takes in requests about that one.
CLOUD_HOSTS_PER_OWN = 50


class OwnCapacity:
    """The hosts on which a group has holds that may move.

    :param current: CurrentHolds
    :param check_deadline: called before each request; raises OutOfTime
    """

    def __init__(self, context, placement_client, current, check_deadline):
        self._context = context
        self._placement_client = placement_client
        self._check_deadline = check_deadline
        self._holds = current.movable
        self._queries = None
        # {provider: its host}, of the hosts and of all providers of the holds
        # and candidates
        self._host_of = {
            provider: hold.provider_uuid
            for hold in self._holds
            for provider in (hold.provider_uuid, *hold.allocations)
        }
        self._inventories = {}

    @property
    def hosts(self):
        """Set of the hosts' uuids."""
        return {hold.provider_uuid for hold in self._holds}

    def candidates(self, resources, host_count=0):
        """Yield all allocation candidates on these hosts for one member.

        :param resources: Nova's ResourceRequest
        :param host_count: number of all hosts of the cloud, to choose the
            faster queries
        :returns: (set of root providers, allocation request) pairs; the roots
            are not only the host if it uses a sharing provider
        """
        query = queries.parse_candidate_query(resources)
        if not self._holds or query is None:
            return
        if self._queries is None:
            self._queries = self._make_queries(host_count)
        implied = implied_candidates.ImpliedCandidates(self._queries, query)
        for host, freed in sorted(self.freed(query.amounts).items()):
            for candidate in implied.of_host(host, freed):
                roots = implied.roots(candidate, host)
                if roots == {host}:
                    self._host_of |= {each: host for each, _name in candidate}
                yield (
                    roots,
                    implied_candidates.request(candidate, query.amounts),
                )

    def _make_queries(self, host_count):
        args = self._context, self._placement_client, self._check_deadline
        everywhere = implied_candidates.ProviderQueries(*args)
        if host_count < len(
            self.hosts
        ) * CLOUD_HOSTS_PER_OWN or everywhere.with_traits(
            [implied_candidates.SHARING_TRAIT]
        ):
            return everywhere
        return tree_queries.TreeQueries.of_hosts(*args, self.hosts)

    def freed(self, amounts):
        """Return {host: (provider, resource class) pairs that holds fill}.

        :param amounts: {resource class: amount} of one member; pairs whose
            inventory does not allow that amount are left out, unless a hold
            has it already
        """
        freed = collections.defaultdict(set)
        for hold in self._holds:
            freed[hold.provider_uuid].update(
                (provider, name)
                for provider, allocation in hold.allocations.items()
                for name, held in allocation['resources'].items()
                if name in amounts
                and (
                    amounts[name] == held
                    or self._allows(provider, name, amounts[name])
                )
            )
        return freed

    def _allows(self, provider, name, amount):
        """Check whether an inventory's units allow an amount."""
        inventory = self._inventories_of(provider).get(name)
        return inventory is not None and tree_queries.is_allowed(
            inventory, amount
        )

    def _inventories_of(self, provider):
        if provider not in self._inventories:
            self._check_deadline()
            self._inventories[provider] = self._placement_client.inventories(
                self._context, provider
            )
        return self._inventories[provider]

    def add_to(self, free):
        """Add the amounts of the holds to the free amounts.

        :param free: {root provider: {(provider, resource class): amount}}; the
            hosts of holds that are missing are inserted, with the capacity of
            the candidates that were found before
        """
        missing = {*self._host_of.values()} - free.keys()
        for provider, host in self._host_of.items():
            if host in missing:
                free[host].update(self._free_on(provider))
        for hold in self._holds:
            for provider, allocation in hold.allocations.items():
                for name, amount in allocation['resources'].items():
                    free[hold.provider_uuid][provider, name] += amount

    def _free_on(self, provider):
        """Return {(provider, resource class): free amount}."""
        inventories = self._inventories_of(provider)
        self._check_deadline()
        usages = self._placement_client.usages(self._context, provider) or {}
        free = client.free_capacity(inventories, usages)
        return {
            (provider, name): max(0, int(amount))
            for name, amount in free.items()
        }


def total_amounts(allocations):
    """Return {resource class: amount} of allocations, over all providers."""
    amounts = collections.Counter()
    for allocation in allocations.values():
        amounts.update(allocation['resources'])
    return dict(amounts)

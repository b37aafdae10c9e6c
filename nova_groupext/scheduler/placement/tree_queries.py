# SPDX-License-Identifier: Apache-2.0
"""Queries about the providers of few hosts, answered from what these have.

A query to Placement about all providers returns thousands of them in a large
cloud. Reading what few hosts have takes less time. Sharing providers are not
among these.
"""

import dataclasses
import functools

from nova_groupext.scheduler.placement import concurrent_reads
from nova_groupext.scheduler.placement import implied_candidates


class TreeQueries(implied_candidates.ProviderQueries):
    """Queries about the providers in the trees of some hosts.

    :param root_of: {provider: root of its tree} of all providers there
    """

    def __init__(self, context, client, check_deadline, root_of):
        super().__init__(context, client, check_deadline)
        self._root_of = root_of

    @classmethod
    def of_hosts(cls, context, client, check_deadline, hosts):
        """Return the queries for some hosts, whose trees are read.

        :param hosts: uuids of the root providers
        """
        trees = concurrent_reads.read_each(
            context,
            check_deadline,
            lambda context, host: client.roots(context, [('in_tree', host)]),
            hosts,
        )
        root_of = {
            provider: root
            for tree in trees.values()
            for provider, root in tree.items()
        }
        return cls(context, client, check_deadline, root_of)

    def roots(self, *filters):
        return {
            uuid: self._root_of[uuid]
            for uuid, provider in self._providers.items()
            if all(provider.meets(*each) for each in filters)
        }

    def summaries(self):
        """Return {provider: summary}, as in answers about candidates."""
        return {
            uuid: {
                'root_provider_uuid': self._root_of[uuid],
                'resources': provider.resources(),
            }
            for uuid, provider in self._providers.items()
        }

    @functools.cached_property
    def _providers(self):
        parts = concurrent_reads.read_each(
            *(self._context, self.check_deadline, self._read, self._root_of)
        )
        return {uuid: _Provider(*each) for uuid, each in parts.items()}

    def _read(self, context, provider):
        return (
            self._client.inventories(context, provider),
            self._client.total_usage(context, provider),
            self._client.traits(context, provider),
            self._client.aggregates(context, provider),
        )


@dataclasses.dataclass(frozen=True)
class _Provider:
    """One provider, as it was read.

    :ivar inventories: {resource class: Placement's inventory}
    :ivar usage: {resource class: amount}
    """

    inventories: dict
    usage: dict
    traits: list
    aggregates: list

    def meets(self, name, value):
        """Check whether it meets a filter of Placement's query."""
        if name == 'resources':
            resource_class, amount = value.split(':')
            return self._has_free(resource_class, int(amount))
        if name == 'required':
            return all(
                _is_met(trait, self.traits) for trait in value.split(',')
            )
        return _is_met(value, self.aggregates)

    def resources(self):
        """Return {resource class: its capacity and what is used of it}."""
        return {
            name: {
                'capacity': int(_capacity(inventory)),
                'used': self.usage.get(name, 0),
            }
            for name, inventory in self.inventories.items()
        }

    def _has_free(self, name, amount):
        inventory = self.inventories.get(name)
        if inventory is None or not is_allowed(inventory, amount):
            return False
        return self.usage.get(name, 0) + amount <= _capacity(inventory)


def _capacity(inventory):
    return (inventory['total'] - inventory['reserved']) * inventory[
        'allocation_ratio'
    ]


def is_allowed(inventory, amount):
    """Check whether an inventory's units allow an amount.

    :param inventory: Placement's
    """
    return (
        inventory['min_unit'] <= amount <= inventory['max_unit']
        and amount % inventory['step_size'] == 0
    )


def _is_met(condition, names):
    """Check a condition such as ``x``, ``in:x,y``, ``!x`` or ``!in:x,y``."""
    wanted = condition.removeprefix('!').removeprefix('in:').split(',')
    is_any = any(each in names for each in wanted)
    return is_any != condition.startswith('!')

# SPDX-License-Identifier: Apache-2.0
"""Placement client of the demo: usages and allocation candidates."""

import dataclasses

HOLD_TYPE = 'VRT_MEMBER'


@dataclasses.dataclass(frozen=True)
class Usage:
    """VCPU of a host: in total, allocated to servers, and held."""

    total: int
    servers: int
    held: int

    @property
    def free(self):
        return self.total - self.servers - self.held

    @property
    def numbers(self):
        return self.servers, self.held, self.free


def total(usages):
    """Return the sum of several Usages."""
    columns = zip(*map(dataclasses.astuple, usages), strict=True)
    return Usage(*map(sum, columns))


class PlacementClient:
    """Read-only client of Placement."""

    def __init__(self, cloud):
        self._placement = cloud.placement
        self._providers = {
            host.name: cloud.provider(host.name) for host in cloud.hosts
        }

    def usages(self):
        """Return {host: Usage}, read consumer by consumer: no snapshot."""
        return {
            host: self._usage(f'/resource_providers/{provider}')
            for host, provider in self._providers.items()
        }

    def hosts_for(self, flavor):
        """Return the hosts that are allocation candidates for a flavor."""
        resources = (
            f'VCPU:{flavor.vcpus},MEMORY_MB:{flavor.ram},DISK_GB:{flavor.disk}'
        )
        candidates = self._get(f'/allocation_candidates?resources={resources}')
        summaries = candidates['provider_summaries']
        return [h for h, each in self._providers.items() if each in summaries]

    def _usage(self, provider):
        inventory = self._get(f'{provider}/inventories')['inventories']['VCPU']
        used = {True: 0, False: 0}
        allocations = self._get(f'{provider}/allocations')['allocations']
        for consumer, allocation in allocations.items():
            owner = self._get(f'/allocations/{consumer}')
            # Empty if the consumer was deleted after the request above.
            if owner['allocations']:
                is_hold = owner['consumer_type'] == HOLD_TYPE
                used[is_hold] += allocation['resources']['VCPU']
        return Usage(inventory['total'], used[False], used[True])

    def _get(self, path):
        return self._placement.get(path).json()

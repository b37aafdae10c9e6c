# SPDX-License-Identifier: Apache-2.0
"""A cloud whose hosts use licenses of other resource providers."""

from oslo_utils import uuidutils

from nova_groupext.cloud import hosts
from tests.functional import changing_cloud

LICENSE = 'CUSTOM_LICENSE'


class IncompleteCase(changing_cloud.ChangingCloudTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
    )

    def licensed(self, licenses=1):
        """Return the name of a flavor that also requests licenses."""
        placement = self.cloud.placement
        placement.put(f'/resource_classes/{LICENSE}')
        name = f'licensed-{licenses}'
        flavor = self.cloud.nova('admin').flavors.create(name, 512, 1, 1)
        self.addCleanup(flavor.delete)
        flavor.set_keys({f'resources:{LICENSE}': f'{licenses}'})
        return name

    def provider(self, name, parent=None, traits=(), total=8):
        """Make a provider of licenses; returns its uuid."""
        placement = self.cloud.placement
        uuid = uuidutils.generate_uuid()
        body = {'name': name, 'uuid': uuid}
        if parent:
            body['parent_provider_uuid'] = parent
        placement.post('/resource_providers', json=body)
        self.addCleanup(self.delete_provider, uuid)
        placement.put(
            f'/resource_providers/{uuid}/inventories',
            json={
                'resource_provider_generation': 0,
                'inventories': {LICENSE: {'total': total}},
            },
        )
        if traits:
            placement.put(
                f'/resource_providers/{uuid}/traits',
                json={'resource_provider_generation': 1, 'traits': traits},
            )
        return uuid

    def delete_provider(self, uuid):
        """Delete a provider once nothing is allocated on it any more."""
        url = f'/resource_providers/{uuid}'
        delete = self.cloud.placement.delete
        self.eventually(
            lambda: delete(url, raise_exc=False).status_code,
            lambda code: code in (204, 404),
        )

    def aggregate(self, *providers):
        aggregate = uuidutils.generate_uuid()
        for uuid in providers:
            url = f'/resource_providers/{uuid}/aggregates'
            now = self.cloud.placement.get(url).json()
            generation = 'resource_provider_generation'
            self.cloud.placement.put(
                url,
                json={
                    'aggregates': [*now['aggregates'], aggregate],
                    generation: now[generation],
                },
            )

    def add_trait(self, host, trait):
        """Give a host a trait until the end of the test."""
        self.cloud.placement.put(f'/traits/{trait}')
        traits = self._traits(host)
        self._set_traits(host, [*traits, trait])
        self.addCleanup(self._set_traits, host, traits)

    def _traits(self, host):
        url = f'/resource_providers/{self.root(host)}/traits'
        return self.cloud.placement.get(url).json()['traits']

    def _set_traits(self, host, traits):
        url = f'/resource_providers/{self.root(host)}/traits'
        now = self.cloud.placement.get(url).json()
        self.cloud.placement.put(url, json={**now, 'traits': traits})

    def root(self, name):
        body = self.cloud.placement.get(
            f'/resource_providers?name={name}'
        ).json()
        [found] = body['resource_providers']
        return found['uuid']

    def assert_undecided(self, group, reason):
        self.assertEqual('UNDECIDED', group['status'], group)
        self.assertIsNone(group['refusal'])
        self.assertIn(reason, group['fault']['message'])

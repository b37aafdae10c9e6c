# SPDX-License-Identifier: Apache-2.0
"""Client of Placement: holds, free capacity, and traits."""

from urllib import parse

from oslo_serialization import jsonutils as json
from tempest.lib.common import rest_client

# First microversion that counts usages by consumer type.
MICROVERSION = '1.38'
#: Consumer types of holds and of placeholders on exclusive hosts.
HOLD_TYPES = ('VRT_MEMBER', 'VRT_EXCLUSIVE')


class PlacementClient(rest_client.RestClient):
    """Client of an admin, with a fixed microversion."""

    def show_held(self, project_id):
        """Return the number of a project's holds by consumer type."""
        query = parse.urlencode({'project_id': project_id})
        usages = self._call('GET', f'usages?{query}')['usages']
        return {
            kind: usages[kind]['consumer_count']
            for kind in HOLD_TYPES
            if kind in usages
        }

    def list_allocations(self, consumer):
        """Return a consumer's allocations by resource provider."""
        return self._call('GET', f'allocations/{consumer}')['allocations']

    def show_provider(self, host):
        """Return the resource provider of a host."""
        query = parse.urlencode({'name': host})
        response = self._call('GET', f'resource_providers?{query}')
        [provider] = response['resource_providers']
        return provider

    def show_inventory(self, provider, resource='VCPU'):
        path = f'resource_providers/{provider}/inventories/{resource}'
        return self._call('GET', path)

    def show_usages(self, provider):
        return self._call('GET', f'resource_providers/{provider}/usages')[
            'usages'
        ]

    def create_trait(self, name):
        self._call('PUT', f'traits/{name}')

    def delete_trait(self, name):
        self._call('DELETE', f'traits/{name}')

    def show_traits(self, provider):
        return self._call('GET', f'resource_providers/{provider}/traits')

    def set_traits(self, provider, **traits):
        self._call('PUT', f'resource_providers/{provider}/traits', traits)

    def _call(self, method, path, body=None):
        request_body = None if body is None else json.dumps(body)
        resp, text = self.request(
            method,
            path,
            headers={
                **self.get_headers(),
                'OpenStack-API-Version': f'placement {MICROVERSION}',
            },
            body=request_body,
        )
        return rest_client.ResponseBody(resp, json.loads(text or '{}'))

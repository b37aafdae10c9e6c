# SPDX-License-Identifier: Apache-2.0
"""Stub of the network service: a cloud without networks.

Nova lists ports and security groups whenever it shows a server, so a service
must return empty lists.
"""

from nova_groupext.cloud import stub_service


class Networks(stub_service.StubService):
    """Stub of the network API at ``<cloud>/network``."""

    ROUTES = (
        ('GET', '', 'versions'),
        ('GET', '/v2.0/quotas/[^/]+(/default)?', 'quota'),
        ('GET', '/v2.0/auto-allocated-topology/[^/]+', 'topology'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)/(?P<uuid>[^/]+)', 'unknown'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)', 'empty'),
    )

    def __init__(self, url):
        """Answer requests below ``url``, the URL of the cloud."""
        super().__init__(f'{url}/network')

    def versions(self, request):
        current = stub_service.version('v2.0', f'{self.url}/v2.0/')
        return stub_service.json_response({'versions': [current]})

    def quota(self, request):
        return stub_service.json_response({'quota': {}})

    def topology(self, request):
        """Refuse to create a network for a server that needs one."""
        return _error_response(
            409,
            'AutoAllocationFailure',
            'Deployment error: No default router:external network.',
        )

    def unknown(self, request, collection, uuid):
        """Return 404; Nova evaluates the error type, such as PortNotFound."""
        words = collection.removesuffix('s').split('-')
        kind = ''.join(word.capitalize() for word in words)
        return _error_response(
            404, f'{kind}NotFound', f'{kind} {uuid} could not be found.'
        )

    def empty(self, request, collection):
        key = collection.replace('-', '_')
        return stub_service.json_response({key: [], f'{key}_links': []})


def _error_response(status, kind, message):
    """Return an error in Neutron's format."""
    error = {'type': kind, 'message': message, 'detail': ''}
    return stub_service.json_response({'NeutronError': error}, status)

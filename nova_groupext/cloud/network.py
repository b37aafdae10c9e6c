# SPDX-License-Identifier: Apache-2.0
"""A look-alike of the network service: there are no networks.

Nova asks for ports and security groups whenever it shows a server, so
something has to say that there are none.
"""

from nova_groupext.cloud import lookalike


class Networks(lookalike.LookAlike):
    """The network look-alike, at ``<cloud>/network``."""

    ROUTES = (
        ('GET', '', 'versions'),
        ('GET', '/v2.0/quotas/[^/]+(/default)?', 'quota'),
        ('GET', '/v2.0/auto-allocated-topology/[^/]+', 'topology'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)/(?P<wanted>[^/]+)', 'unknown'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)', 'empty'),
    )

    def __init__(self, url):
        """Answer below ``url``, the cloud's own URL."""
        super().__init__(f'{url}/network')

    def versions(self, request):
        current = lookalike.version('v2.0', f'{self.url}/v2.0/')
        return lookalike.answer({'versions': [current]})

    def quota(self, request):
        return lookalike.answer({'quota': {}})

    def topology(self, request):
        """No network can be made for a server that asks for any."""
        return _refusal(
            409,
            'AutoAllocationFailure',
            'Deployment error: No default router:external network.',
        )

    def unknown(self, request, collection, wanted):
        """None of a collection is there; Nova goes by the error's type."""
        words = collection.removesuffix('s').split('-')
        kind = ''.join(word.capitalize() for word in words)
        return _refusal(
            404, f'{kind}NotFound', f'{kind} {wanted} could not be found.'
        )

    def empty(self, request, collection):
        key = collection.replace('-', '_')
        return lookalike.answer({key: [], f'{key}_links': []})


def _refusal(status, kind, message):
    """An error as Neutron tells it."""
    error = {'type': kind, 'message': message, 'detail': ''}
    return lookalike.answer({'NeutronError': error}, status)

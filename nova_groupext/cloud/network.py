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

    def empty(self, request, collection):
        key = collection.replace('-', '_')
        return lookalike.answer({key: [], f'{key}_links': []})

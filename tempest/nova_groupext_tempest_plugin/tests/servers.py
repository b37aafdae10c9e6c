# SPDX-License-Identifier: Apache-2.0
"""Base class of tests that create servers for members."""

from tempest import config
from tempest.common import waiters as compute_waiters
from tempest.lib.common import fixed_network
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils

from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import base

CONF = config.CONF


class BaseServerTest(base.BaseGroupTest):
    """Base of tests that create servers, which cleanups remove."""

    def other_flavor(self):
        """Return a flavor that is not the one of ``topologies.member()``."""
        other = CONF.compute.flavor_ref_alt
        if other == CONF.compute.flavor_ref:
            raise self.skipException(
                '[compute] flavor_ref_alt is the same as flavor_ref.'
            )
        return other

    def networks(self):
        """Return the argument ``networks`` of a server, if any, as a dict."""
        return fixed_network.set_networks_kwarg(self.get_tenant_network())

    def create_server(self, client=None, **server):
        """Create a server without waiting for it, and return its id."""
        client = client or self.servers
        described = {
            'name': data_utils.rand_name(type(self).__name__),
            'imageRef': CONF.compute.image_ref,
            'flavorRef': CONF.compute.flavor_ref,
            **self.networks(),
            **server,
        }
        server_id = client.create_server(**described)['server']['id']
        self.addCleanup(self.remove_server, server_id, client)
        return server_id

    def create_member(self, group, path, **server):
        """Create the server of a member, wait for it, and return its id."""
        hints = {'vrt_group': group['id'], 'vrt_member': path}
        server_id = self.create_server(scheduler_hints=hints, **server)
        self.wait_for_server(server_id)
        return server_id

    def create_members(self, group):
        """Create the servers of all held members; return {path: id}."""
        held = [m for m in group['members'] if m['status'] == 'HELD']
        servers = {
            member['path']: self.create_member(group, member['path'])
            for member in held
        }
        waiters.wait_for_members(
            self.groups, group['id'], dict.fromkeys(servers, 'ACTIVE')
        )
        return servers

    def wait_for_server(self, server_id, status='ACTIVE'):
        return compute_waiters.wait_for_server_status(
            self.servers, server_id, status
        )

    def remove_server(self, server_id, client=None):
        """Delete a server, and wait until it is gone."""
        client = client or self.servers
        test_utils.call_and_ignore_notfound_exc(
            client.delete_server, server_id
        )
        compute_waiters.wait_for_server_termination(client, server_id)
        self.check_server_allocation(server_id)

# SPDX-License-Identifier: Apache-2.0
"""Ordinary servers in a try-out cloud."""

import uuid

from novaclient import exceptions

from nova_groupext.cloud import image
from nova_groupext.cloud import network
from tests.functional.cloud import base


class TestServers(base.CloudTestCase):
    """Stock Nova on stock hosts."""

    def test_server_becomes_active(self):
        server = self.boot()

        self.assertEqual('ACTIVE', server.status)

    def test_sdk_lists_a_server(self):
        server = self.boot()

        names = {each.id for each in self.cloud.sdk('demo').compute.servers()}
        self.assertIn(server.id, names)

    def test_other_project_does_not_see_a_server(self):
        server = self.boot()
        other = self.cloud.nova('other')

        self.assertNotIn(server.id, self.server_ids('other'))
        self.assertRaises(exceptions.NotFound, other.servers.get, server.id)

    def test_tenant_sees_no_host(self):
        server = self.boot()

        self.assertFalse(hasattr(server, 'OS-EXT-SRV-ATTR:host'))

    def test_concurrent_servers_become_active(self):
        servers = [self.create() for _each in range(6)]

        built = {self.wait_for_build(server).status for server in servers}

        self.assertEqual({'ACTIVE'}, built)

    def test_server_is_placed_in_its_zone(self):
        server = self.boot(user='admin', availability_zone='az2')

        host = getattr(server, 'OS-EXT-SRV-ATTR:host')
        self.assertEqual('cmp-2', host)

    def test_cold_migration_changes_the_host(self):
        server = self.boot(user='admin')
        source = getattr(server, 'OS-EXT-SRV-ATTR:host')

        server.migrate()
        moved = self.eventually(
            server.manager.get,
            lambda now: now.status in ('VERIFY_RESIZE', 'ERROR'),
            server,
        )
        moved.confirm_resize()

        self.assertEqual('VERIFY_RESIZE', moved.status)
        self.assertNotEqual(source, getattr(moved, 'OS-EXT-SRV-ATTR:host'))
        self.eventually(
            server.manager.get, lambda now: now.status == 'ACTIVE', server
        )

    def test_server_whose_image_trait_no_host_has_fails(self):
        server = self.boot(image=image.image_id('cirros-vmx'))

        self.assertEqual('ERROR', server.status)

    def test_server_of_the_broken_image_fails(self):
        server = self.boot(image=image.image_id('cirros-broken'))

        self.assertEqual('ERROR', server.status)

    def test_server_has_a_port_of_the_network_until_it_is_deleted(self):
        sdk = self.cloud.sdk('demo').network
        port = sdk.create_port(network_id=network.NETWORK['id'])

        for nics in (
            'auto',
            [{'net-id': network.NETWORK['id']}],
            [{'port-id': port.id}],
        ):
            server = self.boot(nics=nics)

            ports = list(sdk.ports(device_id=server.id))
            self.assertEqual('ACTIVE', server.status, vars(server))
            self.assertEqual(
                [each.fixed_ips[0]['ip_address'] for each in ports],
                [each['addr'] for each in server.addresses['private']],
            )
            self.delete_servers(server)
            self.assertEqual([], list(sdk.ports(device_id=server.id)))

    def test_server_with_an_unknown_network_or_port_is_refused(self):
        here = str(uuid.uuid4())

        for nics in ([{'net-id': here}], [{'port-id': here}]):
            self.assertRaises(exceptions.BadRequest, self.create, nics=nics)

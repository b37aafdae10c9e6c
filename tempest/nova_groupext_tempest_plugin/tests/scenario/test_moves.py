# SPDX-License-Identifier: Apache-2.0
"""Scenarios of resizing and migrating the servers of members."""

import contextlib

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc
from tempest.lib.common import api_microversion_fixture

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers

CONF = config.CONF


class BaseMoveTest(servers.BaseServerTest):
    credentials = ['primary', 'admin']

    def host_of(self, server_id):
        shown = self.os_admin.servers_client.show_server(server_id)
        return shown['server']['OS-EXT-SRV-ATTR:host']

    def confirm(self, server_id):
        """Wait for the resize or migration of a server, and confirm it."""
        self.wait_for_server(server_id, 'VERIFY_RESIZE')
        self.servers.confirm_resize_server(server_id)
        self.wait_for_server(server_id)


class ResizeTest(BaseMoveTest):
    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.compute_feature_enabled.resize:
            raise cls.skipException(
                '[compute-feature-enabled] resize is false.'
            )

    @decorators.idempotent_id('6b0ac2e5-8eb9-4dcf-a347-91e4c6d2e101')
    def test_resized_server_gets_the_reserved_host(self):
        group = self.hold(topologies.equal_members(1))
        group_id = group['id']
        server = self.create_member(group, 'a-0')
        active = waiters.wait_for_status(self.groups, group_id, 'ACTIVE')
        flavor = self.other_flavor()

        self.groups.update_group(
            group_id,
            generation=active['generation'],
            topology=topologies.equal_members(1, flavor=flavor),
        )
        revised = waiters.wait_for_decision(self.groups, group_id)
        self.assertEqual('HELD', revised['status'], revised)
        self.assertIs(True, revised['members'][0]['resize']['held'])
        shown = self.admin_groups.show_group(group_id)['vrt_group']
        held_on = shown['members'][0]['resize']['host']

        self.servers.resize_server(server, flavor)
        self.confirm(server)

        self.assertEqual(held_on, self.host_of(server))
        # The reaper updates the member in its next round.
        resized = waiters.wait_for_group(
            self.groups,
            group_id,
            lambda now: now['members'][0]['resize'] is None,
            'no capacity is held for a resize',
        )
        self.assertEqual('ACTIVE', resized['status'])
        self.assertEqual(server, resized['members'][0]['server_id'])


class ColdMigrationTest(BaseMoveTest):
    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.compute_feature_enabled.cold_migration:
            raise cls.skipException(
                '[compute-feature-enabled] cold_migration is false.'
            )
        if CONF.compute.min_compute_nodes < 3:
            raise cls.skipException('[compute] min_compute_nodes is below 3.')

    def pair(self):
        """Return a group of two servers on two hosts of one domain."""
        scopes = self.groups.show_capabilities()['capabilities']['scopes']
        near = {'type': 'affinity', 'scope': scopes[1]}
        group = self.hold(
            topologies.equal_members(2, [topologies.HOST_ANTI_AFFINITY, near])
        )
        self.create_members(group)
        return waiters.wait_for_status(self.groups, group['id'], 'ACTIVE')

    @decorators.idempotent_id('6b0ac2e5-8eb9-4dcf-a347-91e4c6d2e102')
    def test_migrated_server_keeps_the_strict_policies(self):
        group = self.pair()
        one, two = group['members']

        self.os_admin.servers_client.migrate_server(one['server_id'])
        self.confirm(one['server_id'])

        moved = waiters.wait_for_group(
            self.groups,
            group['id'],
            lambda now: now['members'][0]['domains'] != one['domains'],
            'the member has followed its server',
        )
        hosts = [each['domains'].pop('host') for each in moved['members']]
        self.assertEqual(2, len(set(hosts)))
        self.assertEqual(two['domains']['host'], hosts[1])
        near = next(iter(one['domains'].keys() - {'host', 'zone'}), 'zone')
        self.assertEqual(
            two['domains'][near], moved['members'][0]['domains'][near]
        )
        self.assertEqual([], moved['drift'])

    @decorators.idempotent_id('6b0ac2e5-8eb9-4dcf-a347-91e4c6d2e103')
    def test_migration_to_the_host_of_the_other_member_is_refused(self):
        one, two = self.pair()['members']
        before = self.host_of(one['server_id'])
        # First microversion with a target host for cold migration.
        self.useFixture(
            api_microversion_fixture.APIMicroversionFixture(
                compute_microversion='2.56'
            )
        )

        with contextlib.suppress(lib_exc.BadRequest):
            self.os_admin.servers_client.migrate_server(
                one['server_id'], host=self.host_of(two['server_id'])
            )

        self.wait_for_server(one['server_id'])
        self.assertEqual(before, self.host_of(one['server_id']))

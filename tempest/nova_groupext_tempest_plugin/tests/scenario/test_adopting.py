# SPDX-License-Identifier: Apache-2.0
"""Scenarios of adopting running servers."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import servers


class AdoptingTest(servers.BaseServerTest):
    credentials = ['primary', 'alt']

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('5a9fb1d4-7da8-4cbe-9236-80d3b5c1d001')
    def test_running_server_becomes_a_member(self):
        server = self.create_server()
        self.wait_for_server(server)
        group = self.describe(
            topologies.equal_members(2, [topologies.HOST_ANTI_AFFINITY]),
            hold=False,
        )

        self.groups.act(group['id'], 'adopt', servers={'a-0': server})
        adopted = waiters.wait_for_decision(self.groups, group['id'])

        self.assertIsNone(adopted['revision'])
        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'HELD'},
            waiters.member_statuses(adopted),
        )
        one, two = adopted['members']
        self.assertEqual(server, one['server_id'])
        self.assertNotEqual(one['domains']['host'], two['domains']['host'])
        self.assert_adoption_refused(lib_exc.Conflict, group, 'a-1', server)

    @decorators.idempotent_id('5a9fb1d4-7da8-4cbe-9236-80d3b5c1d002')
    def test_server_of_another_project_is_not_found(self):
        client = self.os_alt.servers_client
        server = self.create_server(client)
        group = self.describe(topologies.equal_members(1), hold=False)

        self.assert_adoption_refused(lib_exc.NotFound, group, 'a-0', server)
        self.assert_adoption_refused(lib_exc.NotFound, group, 'a-1', server)

        self.assertEqual(group, self.group(group['id']))

    @decorators.idempotent_id('5a9fb1d4-7da8-4cbe-9236-80d3b5c1d003')
    def test_server_is_adopted_once(self):
        server = self.create_server()
        self.wait_for_server(server)
        group = self.describe(topologies.equal_members(2), hold=False)

        refusal = self.assert_adoption_refused(
            lib_exc.BadRequest, group, 'a-0', server, **{'a-1': server}
        )

        message = refusal.resp_body['message']
        self.assertTrue(message.startswith('$.adopt.servers.a-1: '), message)

    def assert_adoption_refused(self, error, group, path, server, **others):
        return self.assertRaises(
            error,
            self.groups.act,
            group['id'],
            'adopt',
            servers={path: server, **others},
        )

# SPDX-License-Identifier: Apache-2.0
"""Requests that tools send, from the documentation, to a real Nova."""

import json
import pathlib

from nova_groupext.cloud import image
from nova_groupext.cloud import network
from tests.functional import base
from tests.functional import growing

EXAMPLES = pathlib.Path(__file__).parents[2] / 'doc/source/examples/tools'
TOPOLOGY = {
    'members': {'db': base.member()},
    'groups': {
        'front': {
            'members': {'web': base.member(count=2, max_count=3, max_surge=1)}
        }
    },
}


class TestTools(growing.GrowingCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(TOPOLOGY)['id']
        sdk = self.cloud.sdk('demo')
        self.port = sdk.network.create_port(network_id=network.NETWORK['id'])
        self.values = {
            '<image>': image.image_id('cirros'),
            '<flavor>': sdk.compute.find_flavor('m1.tiny').id,
            '<network>': network.NETWORK['id'],
            '<port>': self.port.id,
            '<id of the group>': self.uuid,
            '<id of the subgroup>': self.group(self.uuid)['subgroups'][
                'front'
            ],
        }

    def send(self, name, version):
        """Create a server by the request of an example.

        :returns: the path of the member that it becomes
        """
        body = (EXAMPLES / f'{name}.json').read_text()
        for placeholder, value in self.values.items():
            body = body.replace(placeholder, value)
        response = self.api().post(
            '/servers', json=json.loads(body), microversion=version
        )
        self.assertEqual(202, response.status_code, response.text)
        server = self.cloud.nova('demo').servers.get(
            response.json()['server']['id']
        )
        self.addCleanup(self.delete_servers, server)
        built = self.wait_for_build(server)
        self.assertEqual('ACTIVE', built.status, vars(built))
        self.assertIn('private', built.addresses)
        [path] = [
            each['path']
            for each in self.group(self.uuid)['members']
            if server.id in (each['server_id'], _successor(each))
        ]
        return path

    def test_servers_of_terraform_become_members(self):
        self.assertEqual('db', self.send('terraform-hints', '2.1'))
        self.assertEqual('front/web-0', self.send('terraform', '2.1'))

    def test_machine_of_a_cluster_becomes_a_member(self):
        self.assertEqual('front/web-0', self.send('cluster-api', '2.53'))

    def test_servers_of_the_dashboard_become_members_until_a_surge(self):
        paths = [self.send('horizon', '2.53') for _number in range(4)]

        self.assertEqual(
            ['front/web-0', 'front/web-1', 'front/web-2'], paths[:3]
        )
        self.assertEqual(
            [paths[3]],
            [
                each['path']
                for each in self.group(self.uuid)['members']
                if each['successor']
            ],
        )


def _successor(member):
    return member['successor'] and member['successor']['server_id']

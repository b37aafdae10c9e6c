# SPDX-License-Identifier: Apache-2.0
"""Bodies of POST /servers for servers of templates."""

from nova.api.openstack.compute.schemas import servers as schema
from nova.api.validation import validators

from nova_groupext_client import template
from nova_groupext_client.deploy import servers
from tests.clients.template import base as templates

FLAVOR, IMAGE, NETWORK = (
    f'{n}' * 8 + '-aaaa' * 3 + '-' + 'b' * 12 for n in '123'
)


class Names:
    """Names and ids of a fake cloud."""

    def flavor(self, name):
        return {'m1.tiny': FLAVOR}[name]

    def image(self, name):
        return {'cirros': IMAGE}[name]

    def network(self, name):
        return {'lan': NETWORK}[name]


class Connection:
    compute = None


class TestBodies(templates.TemplateTestCase):
    def body(self, text, volume=False):
        text = self.template_text(text)
        if volume:
            text = text.replace('      image: cirros\n', '', 1)
        made = template.load(text, name='shop').servers['a']
        body = servers.Servers(Connection, Names()).body('group', 'a', made)
        validators._SchemaValidator(schema.create_v294).validate(body)
        self.assertEqual(
            {'vrt_group': 'group', 'vrt_member': 'a'},
            {
                name: body['os:scheduler_hints'][name]
                for name in ('vrt_group', 'vrt_member')
            },
        )
        return body

    def test_minimal_server_has_only_required_keys(self):
        self.assertEqual(
            {
                'server': {
                    'name': 'a',
                    'flavorRef': FLAVOR,
                    'imageRef': IMAGE,
                    'networks': 'auto',
                },
                'os:scheduler_hints': {
                    'vrt_group': 'group',
                    'vrt_member': 'a',
                },
            },
            self.body(''),
        )

    def test_server_with_all_properties_has_all_keys(self):
        body = self.body(
            """
            name: web
            availability_zone: az1
            key_name: mine
            admin_pass: secret
            diskConfig: AUTO
            config_drive: true
            user_data: hello
            metadata: {a: 1}
            tags: [x]
            security_groups: [web]
            networks: [{network: lan, tag: t}, {port: 7ae1}]
            scheduler_hints: {mine: 1}
            """.replace('7ae1', IMAGE)
        )

        self.assertEqual(
            {
                'name': 'web',
                'flavorRef': FLAVOR,
                'imageRef': IMAGE,
                'availability_zone': 'az1',
                'key_name': 'mine',
                'adminPass': 'secret',
                'OS-DCF:diskConfig': 'AUTO',
                'config_drive': True,
                'user_data': 'aGVsbG8=',
                'metadata': {'a': '1'},
                'tags': ['x'],
                'security_groups': [{'name': 'web'}],
                'networks': [{'uuid': NETWORK, 'tag': 't'}, {'port': IMAGE}],
            },
            body['server'],
        )
        self.assertEqual(1, body['os:scheduler_hints']['mine'])

    def test_boot_volume_replaces_the_image(self):
        server = self.body(
            'block_device_mapping_v2: [{image: cirros, volume_size: 1}]',
            volume=True,
        )['server']

        self.assertEqual('', server['imageRef'])
        [device] = server['block_device_mapping_v2']
        self.assertEqual(IMAGE, device['uuid'])

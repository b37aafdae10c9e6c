# SPDX-License-Identifier: Apache-2.0
"""Servers of templates, from the properties of their resources."""

from nova_groupext_client import template
from tests.clients.template import base


class TestServers(base.TemplateTestCase):
    def test_counted_servers_have_their_numbers(self):
        servers = template.load(base.SHOP, {'webs': 2}, 'shop').servers

        self.assertEqual(
            ['front/web-0', 'front/web-1', 'front/cache', 'front/store/db'],
            list(servers),
        )
        self.assertEqual(
            {
                'name': 'web-1',
                'flavor': 'm1.small',
                'image': 'cirros',
                'networks': [{'network': 'shop'}],
                'user_data': '#!/bin/sh\nserve --number 1 --shop shop\n',
            },
            servers['front/web-1'],
        )
        self.assertEqual(
            {
                'name': 'front-store-db',
                'flavor': 'm1.large',
                'image': 'cirros',
                'availability_zone': 'az1',
                'networks': 'none',
            },
            servers['front/store/db'],
        )

    def test_properties_get_the_names_of_nova(self):
        loaded = self.load(
            """
            key_name: mine
            admin_pass: secret
            diskConfig: MANUAL
            config_drive: "yes"
            metadata: {a: 1, b: [2], c: true, d: null, e: "é", f: ""}
            tags: [x]
            security_groups: [web]
            user_data_format: RAW
            user_data: {get_param: nothing}
            flavor_update_policy: RESIZE
            availability_zone:
            scheduler_hints: {vrt_group: old, vrt_member: old, mine: 1}
            """,
            parameters='nothing: {type: string, default: ""}',
        )

        self.assertEqual(
            {
                'name': 'a',
                'flavor': 'm1.tiny',
                'image': 'cirros',
                'key_name': 'mine',
                'adminPass': 'secret',
                'OS-DCF:diskConfig': 'MANUAL',
                'config_drive': True,
                'metadata': {
                    **{'a': '1', 'b': '[2]', 'c': 'true', 'd': 'null'},
                    **{'e': 'é', 'f': ''},
                },
                'tags': ['x'],
                'security_groups': ['web'],
                'scheduler_hints': {'mine': 1},
            },
            loaded.servers['a'],
        )

    def test_networks_are_converted(self):
        for given, expected in (
            ('[{allocate_network: auto}]', 'auto'),
            ('[{uuid: n, tag: t}]', [{'network': 'n', 'tag': 't'}]),
            ('[{port: p}]', [{'port': 'p'}]),
            (
                '[{network: n, fixed_ip: 10.0.0.1, port: }]',
                [{'network': 'n', 'fixed_ip': '10.0.0.1'}],
            ),
        ):
            loaded = self.load(f'networks: {given}')
            self.assertEqual(expected, loaded.servers['a']['networks'])

    def test_block_devices_are_converted(self):
        image = {
            'uuid': 'cirros',
            'source_type': 'image',
            'destination_type': 'volume',
            'boot_index': 0,
            'delete_on_termination': True,
            'volume_size': 5,
        }
        blank = {
            'source_type': 'blank',
            'destination_type': 'local',
            'boot_index': -1,
            'delete_on_termination': True,
        }
        text = self.template_text("""
            block_device_mapping_v2:
            - {image: cirros, volume_size: "5", delete_on_termination: true}
            - {swap_size: 2}
            - {ephemeral_size: 3, ephemeral_format: ext4, disk_bus: scsi}
            """).replace('      image: cirros\n', '', 1)

        self.assertEqual(
            [
                image,
                {**blank, 'guest_format': 'swap', 'volume_size': 2},
                {
                    **blank,
                    'volume_size': 3,
                    'guest_format': 'ext4',
                    'disk_bus': 'scsi',
                },
            ],
            template.load(text).servers['a']['block_device_mapping_v2'],
        )

    def test_properties_that_need_heat_are_refused(self):
        for given, reason in {
            'networks: [{subnet: s}]': 'needs Heat',
            'networks: [{port: {get_resource: p}}]': 'the stack',
            'user_data_format: SOFTWARE_CONFIG': 'needs Heat',
            'block_device_mapping: []': 'obsolete',
            'personality: {/a: b}': 'user_data',
            'block_device_mapping_v2: [{volume_id: v}]': 'boot_index -1',
        }.items():
            text = self.template_text(given)
            template.load(text).with_hints('group')
            self.assert_refused(text, reason)
        text = self.template_text('').replace(
            '    type:', '    depends_on: b\n    type:'
        )
        self.assert_refused(text, 'needs Heat', 'depends_on')

    def test_wrong_properties_are_refused(self):
        for given, reason in {
            'flavour: m1.tiny': 'is not a property of a server',
            'networks: {}': 'must be a list',
            'networks: [{}]': 'needs a network or a port',
            'networks: [{network: a, port: b}]': 'needs a network or a port',
            'networks: [{allocate_network: no}]': 'must be none or auto',
            'networks: [{allocate_network: none}, {port: b}]': 'combined',
            'networks: [{net: a}]': 'is not a part of a network',
            'metadata: text': 'must be a mapping',
            'config_drive: perhaps': 'must be true or false',
            'tags: [[a]]': 'must be a string',
            'block_device_mapping_v2: [{}]': 'needs one of volume_id',
            'block_device_mapping_v2: [{image: a, volume_id: b}]': 'has both',
            'block_device_mapping_v2: [{swap_size: 0}]': 'at least 1',
            'scheduler_hints: {group: g}': 'write a policy instead',
            'scheduler_hints: {cidr: /24}': 'write a policy instead',
            'scheduler_hints: {get_param: g}': 'must be a mapping, to',
            'scheduler_hints: [a]': 'must be a mapping',
        }.items():
            self.assert_refused(self.template_text(given), reason)

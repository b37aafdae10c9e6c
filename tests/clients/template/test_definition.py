# SPDX-License-Identifier: Apache-2.0
"""Topologies of templates and of definition files."""

import json

from nova_groupext.api.schemas import request_schemas
from nova_groupext_client import template
from nova_groupext_client.template import nodes
from tests.clients.template import base

IMAGE = {'image': 'cirros'}


class TestDefinition(base.TemplateTestCase):
    def test_sections_become_a_topology(self):
        loaded = template.load(base.SHOP, name='shop')

        self.assertEqual('A shop', loaded.description)
        self.assertEqual(
            {
                'groups': {
                    'front': {
                        'members': {
                            'web': {
                                'flavor': 'm1.small',
                                'count': 3,
                                'min_count': 2,
                                **IMAGE,
                            },
                            'cache': {'flavor': 'm1.tiny', **IMAGE},
                        },
                        'policies': [
                            {'type': 'anti-affinity', 'scope': 'host'}
                        ],
                        'groups': {
                            'store': {
                                'members': {
                                    'db': {
                                        'flavor': 'm1.large',
                                        'availability_zone': 'az1',
                                        **IMAGE,
                                    }
                                }
                            }
                        },
                    }
                },
                'policies': [
                    {'type': 'affinity', 'scope': 'zone', 'strict': False}
                ],
                'relationships': [
                    {
                        'name': 'queries',
                        'between': ['front/web', 'front/store/db'],
                        'bandwidth': 10,
                        'policies': [
                            {'type': 'network-proximity', 'scope': 'rack'}
                        ],
                    }
                ],
            },
            loaded.definition,
        )

    def test_long_description_is_truncated(self):
        limit = request_schemas.CREATE['properties']['vrt_group'][
            'properties'
        ]['description']['maxLength']
        for length, expected in (
            (0, ''),
            (limit, limit * 'x'),
            (limit + 1, (limit - 1) * 'x' + '…'),
        ):
            text = base.SHOP.replace('A shop', f'"{length * "x"}"')

            loaded = template.load(text, name='shop')

            self.assertEqual(expected, loaded.description)
            self.assertIn(length * 'x', loaded.with_hints('g'))

    def test_plain_heat_becomes_a_flat_group(self):
        plain = base.SHOP[: base.SHOP.index('groups:')]

        loaded = template.load(plain, {'webs': '2', 'image': 'debian'})

        self.assertEqual(
            {
                'members': {
                    'web': {
                        'flavor': 'm1.small',
                        'image': 'debian',
                        'count': 2,
                    },
                    'cache': {'flavor': 'm1.tiny', 'image': 'debian'},
                    'db': {
                        'flavor': 'm1.large',
                        'image': 'debian',
                        'availability_zone': 'az1',
                    },
                }
            },
            loaded.definition,
        )

    def test_other_resources_are_left_to_heat(self):
        more = '  net: {type: OS::Neutron::Net}\n  web:\n'

        loaded = template.load(base.SHOP.replace('  web:\n', more, 1))

        self.assertEqual(['net'], loaded.others)
        self.assertNotIn('net', loaded.definition)

    def test_parameters_are_resolved_in_policies_and_counts(self):
        text = self.template_text(
            '',
            parameters='scope: {type: string}\nleast: {type: number}',
            members='a: {min_count: {get_param: least}, max_count: 7}',
            policies='- {type: spread, scope: {get_param: scope}}',
        )

        made = template.load(text, {'scope': 'rack', 'least': 0}).definition

        self.assertEqual(
            [{'type': 'spread', 'scope': 'rack'}], made['policies']
        )
        member = made['members']['a']
        self.assertEqual((0, 7), (member['min_count'], member['max_count']))

    def test_policies_of_a_member_are_kept_on_it(self):
        made = template.load(
            self.template_text(
                '',
                parameters='scope: {type: string}',
                members='a: {policies: [{type: survive, '
                'scope: {get_param: scope}, min_members: 1}]}',
            ),
            {'scope': 'rack'},
        ).definition

        survive = {'type': 'survive', 'scope': 'rack', 'min_members': 1}
        self.assertEqual([survive], made['members']['a']['policies'])
        self.assertNotIn('min_count', made['members']['a'])

    def test_parts_of_other_groups_are_passed_to_the_api(self):
        made = template.load(
            self.template_text(
                '',
                parameters='other: {type: string}',
                relationships='- {name: t, between: [a, {group: '
                '{get_param: other}, path: db}]}',
            ),
            {'other': 'some-uuid'},
        ).definition

        [found] = made['relationships']
        self.assertEqual(
            ['a', {'group': 'some-uuid', 'path': 'db'}], found['between']
        )

    def test_parts_are_resolved_by_path_and_by_name(self):
        for ends, expected in {
            '[web, store]': ['web', 'store'],
            '[web-0, store/db]': ['web-0', 'store/db'],
            '[cache, db]': ['cache', 'store/db'],
            '[web-0, web-2, db]': ['web-0', 'web-2', 'store/db'],
        }.items():
            text = base.SHOP.replace(
                '    groups:\n',
                f'    relationships: [{{between: {ends}}}]\n    groups:\n',
            )
            made = template.load(text, name='shop').definition
            [found] = made['groups']['front']['relationships']
            self.assertEqual(expected, found['between'])

    def test_boot_device_implies_boot_from_volume(self):
        text = self.template_text(
            'block_device_mapping_v2: [{volume_id: {get_resource: disk}}]'
        ).replace('      image: cirros\n', '')

        self.assertEqual(
            {'a': {'flavor': 'm1.tiny', 'boot_from_volume': True}},
            template.load(text).definition['members'],
        )

    def test_errors_of_the_api_are_located_in_the_template(self):
        loaded = template.load(base.SHOP, name='shop')
        topology = '$.vrt_group.topology'
        places = {
            f'{topology}.groups.front.members.web.flavor': 'flavor: m1.small',
            f'{topology}.groups.front.members.cache': 'cache:',
            f'{topology}.groups.front.policies[0].scope': 'scope: host',
            f'{topology}.relationships[0].between[1]': 'between:',
            f'{topology}.relationships[0].policies[0].type': ('type: network'),
            f'{topology}.policies[0].weight': '{type: affinity',
        }

        for path, place in places.items():
            error = loaded.locate_error(f'Invalid input: {path}: is "odd"')
            line = base.SHOP[: base.SHOP.index(place)].count('\n') + 1
            self.assertEqual((line, 'is "odd"'), (error.line, error.reason))
        self.assertIsNone(loaded.locate_error('$.vrt_group.name: is too long'))

    def test_names_in_located_errors_may_have_any_character(self):
        for name in ('my web', 'a.b', 'a]: b', '"a" \\', 'a[0]', 'é: ', ' '):
            text = self.template_text('').replace(
                '  a:\n', f'  {json.dumps(name)}:\n'
            )
            loaded = template.load(text)
            member = nodes.join('$.vrt_group.topology.members', name)
            for part, line in (('flavor', 8), ('nothing', 5)):
                error = loaded.locate_error(f'Oh: {member}.{part}: is: odd')

                self.assertEqual(
                    (line, 'is: odd'), (error.line, error.reason), name
                )


class TestDefinitionFiles(base.TemplateTestCase):
    def test_body_group_and_topology_are_read_as_json_and_yaml(self):
        topology = {'members': {'a': {'flavor': 'm1.tiny', 'count': 2}}}
        for text in (
            '{"vrt_group": {"topology": {"members": '
            '{"a": {"flavor": "m1.tiny", "count": 2}}}}}',
            'topology: {members: {a: {flavor: m1.tiny, count: 2}}}',
            'members:\n  a:\n    flavor: m1.tiny\n    count: 2\n',
        ):
            self.assertEqual(
                {'topology': topology},
                template.load_definition(text).definition,
            )

    def test_attributes_beside_the_topology_are_kept(self):
        text = 'name: shop\nexpires_in: 60\ntopology: {}\n'

        self.assertEqual(
            {'name': 'shop', 'expires_in': 60, 'topology': {}},
            template.load_definition(text).definition,
        )

    def test_all_attributes_of_requests_are_accepted(self):
        bodies = (request_schemas.CREATE, request_schemas.UPDATE)
        for body in bodies:
            known = body['properties']['vrt_group']['properties']
            text = json.dumps({**dict.fromkeys(known, 1), 'topology': {}})

            made = template.load_definition(text).definition

            self.assertEqual(known.keys(), made.keys())

    def test_errors_of_the_api_are_located_in_the_definition(self):
        for text, place, line in (
            ('members:\n  a:\n    flavor: x', 'topology.members.a.flavor', 3),
            ('name: shop\ntopology: {}', 'name', 1),
            # The position of a missing key is that of its mapping.
            (
                'topology:\n  members:\n    a: {}',
                'topology.members.a.image',
                3,
            ),
        ):
            given = template.load_definition(text)

            error = given.locate_error(f'$.vrt_group.{place}: is unknown')

            self.assertEqual((line, 'is unknown'), (error.line, error.reason))
        self.assertIsNone(given.locate_error('The cloud is down'))

    def test_misspelt_attributes_are_refused(self):
        for text, reason in (
            (
                'name: shop\ntopologie: {}',
                'topologie: is not a part of a group',
            ),
            ('name: shop\nexpires_in: 60', 'needs topology'),
            (
                'heat_template_version: pike\nresources: {}',
                'on the command line: --template',
            ),
            (
                'name: shop\nmembers: {}',
                'needs the key topology; members, groups, policies, '
                'relationships belong below it',
            ),
        ):
            error = self.assertRaises(
                template.TemplateError, template.load_definition, text
            )
            self.assertIn(reason, str(error))

    def test_errors_have_a_line(self):
        for text, line in (
            ('members: {}\nmember: {}', 2),
            ('vrt_group:\n  topology: 1', 2),
            ('name: shop\nexpire_in: 60\ntopology: {}', 2),
            ('vrt_group:\n  topology: {}\n  group: x', 3),
            ('- a', 1),
            ('a: [', 1),
        ):
            error = self.assertRaises(
                template.TemplateError, template.load_definition, text
            )
            self.assertEqual(line, error.line, error)

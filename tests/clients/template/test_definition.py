# SPDX-License-Identifier: Apache-2.0
"""Do resources and sections become the topology that is meant?"""

import json

from nova_groupext.api.schemas import request_schemas
from nova_groupext_client import template
from nova_groupext_client.template import nodes
from tests.clients.template import base

IMAGE = {'image': 'cirros'}


class TestDefinition(base.TemplateTestCase):
    def test_sections_are_those_of_a_topology(self):
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

    def test_description_is_as_long_as_a_group_may_have_it(self):
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

    def test_plain_heat_is_a_flat_group(self):
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

    def test_what_is_no_server_is_left_to_heat(self):
        more = '  net: {type: OS::Neutron::Net}\n  web:\n'

        loaded = template.load(base.SHOP.replace('  web:\n', more, 1))

        self.assertEqual(['net'], loaded.others)
        self.assertNotIn('net', loaded.definition)

    def test_parameters_in_policies_and_counts(self):
        text = self.hot(
            '',
            parameters='scope: {type: string}\nleast: {type: number}',
            members='a: {min_count: {get_param: least}}',
            policies='- {type: spread, scope: {get_param: scope}}',
        )

        made = template.load(text, {'scope': 'rack', 'least': 0}).definition

        self.assertEqual(
            [{'type': 'spread', 'scope': 'rack'}], made['policies']
        )
        self.assertEqual(0, made['members']['a']['min_count'])

    def test_policies_of_a_member_stand_on_it(self):
        made = template.load(
            self.hot(
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

    def test_parts_of_other_groups_are_left_to_the_api(self):
        made = template.load(
            self.hot(
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

    def test_parts_by_path_and_by_name(self):
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

    def test_device_to_boot_from(self):
        text = self.hot(
            'block_device_mapping_v2: [{volume_id: {get_resource: disk}}]'
        ).replace('      image: cirros\n', '')

        self.assertEqual(
            {'a': {'flavor': 'm1.tiny', 'boot_from_volume': True}},
            template.load(text).definition['members'],
        )

    def test_answers_of_the_api_are_found_in_the_text(self):
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
            error = loaded.located(f'Invalid input: {path}: is "odd"')
            line = base.SHOP[: base.SHOP.index(place)].count('\n') + 1
            self.assertEqual((line, 'is "odd"'), (error.line, error.reason))
        self.assertIsNone(loaded.located('$.vrt_group.name: is too long'))

    def test_names_in_answers_may_have_any_character(self):
        for name in ('my web', 'a.b', 'a]: b', '"a" \\', 'a[0]', 'é: ', ' '):
            text = self.hot('').replace('  a:\n', f'  {json.dumps(name)}:\n')
            loaded = template.load(text)
            member = nodes.join('$.vrt_group.topology.members', name)
            for part, line in (('flavor', 8), ('nothing', 5)):
                error = loaded.located(f'Oh: {member}.{part}: is: odd')

                self.assertEqual(
                    (line, 'is: odd'), (error.line, error.reason), name
                )


class TestOwnForm(base.TemplateTestCase):
    def test_body_group_or_topology_in_json_or_yaml(self):
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

    def test_what_is_beside_the_topology(self):
        text = 'name: shop\nexpires_in: 60\ntopology: {}\n'

        self.assertEqual(
            {'name': 'shop', 'expires_in': 60, 'topology': {}},
            template.load_definition(text).definition,
        )

    def test_all_that_a_request_takes_may_be_there(self):
        bodies = (request_schemas.CREATE, request_schemas.UPDATE)
        for body in bodies:
            known = body['properties']['vrt_group']['properties']
            text = json.dumps({**dict.fromkeys(known, 1), 'topology': {}})

            made = template.load_definition(text).definition

            self.assertEqual(known.keys(), made.keys())

    def test_what_the_api_refuses_has_a_line_too(self):
        for text, place, line in (
            ('members:\n  a:\n    flavor: x', 'topology.members.a.flavor', 3),
            ('name: shop\ntopology: {}', 'name', 1),
            # What is missing is told where it should be.
            (
                'topology:\n  members:\n    a: {}',
                'topology.members.a.image',
                3,
            ),
        ):
            given = template.load_definition(text)

            error = given.located(f'$.vrt_group.{place}: is unknown')

            self.assertEqual((line, 'is unknown'), (error.line, error.reason))
        self.assertIsNone(given.located('The cloud is down'))

    def test_what_is_misspelt_beside_the_name_is_told(self):
        for text, reason in (
            ('name: shop\ntopologie: {}', 'topologie: is no part of a group'),
            ('name: shop\nexpires_in: 60', 'needs topology'),
            ('name: shop\nmembers: {}', 'name: is no part of a topology'),
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

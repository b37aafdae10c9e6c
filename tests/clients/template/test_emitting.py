# SPDX-License-Identifier: Apache-2.0
"""Heat output of templates, with hints."""

import hypothesis
from hypothesis import strategies
import yaml

from nova_groupext_client import template
from tests.clients.template import base

NAMES = strategies.sampled_from(['a', 'b-1', 'c d', 'ü', '0', 'null'])


@strategies.composite
def templates(draw):
    """Draw a template as a value, with counted and grouped servers."""
    names = draw(strategies.lists(NAMES, min_size=1, unique=True))
    resources, groups = {}, {}
    for name in names:
        server = {
            'type': 'OS::Nova::Server',
            'properties': {
                'flavor': draw(strategies.sampled_from(['m1', '7', 'x: y'])),
                'image': 'cirros',
                'user_data': draw(strategies.text('a\n: #%{"é')),
            },
        }
        if draw(strategies.booleans()):
            count = draw(strategies.integers(1, 3))
            server = {
                'type': 'OS::Heat::ResourceGroup',
                'properties': {'count': count, 'resource_def': server},
            }
        resources[name] = server
        if draw(strategies.booleans()):
            groups.setdefault('g', {'members': []})['members'].append(name)
    return {
        'heat_template_version': '2021-04-16',
        'resources': resources,
        'groups': groups,
        'policies': [],
    }


class TestEmitting(base.TemplateTestCase):
    def test_emitted_template_has_hints_and_no_sections(self):
        emitted = template.load(base.SHOP).with_hints('some-id')

        expected = yaml.safe_load(base.SHOP)
        for section in ('groups', 'policies', 'relationships'):
            del expected[section]
        for name, path in (
            ('web', 'front/web-%index%'),
            ('cache', 'front/cache'),
            ('db', 'front/store/db'),
        ):
            properties = expected['resources'][name]['properties']
            properties = properties.get('resource_def', {}).get(
                'properties', properties
            )
            properties['scheduler_hints'] = {
                'vrt_group': 'some-id',
                'vrt_member': path,
            }
        self.assertEqual(expected, yaml.safe_load(emitted))
        self.assertIn('template: |\n', emitted)

    def test_servers_with_shared_properties_get_their_own_hints(self):
        text = (
            'heat_template_version: pike\nresources:\n'
            f'  a: &a{base.SERVER}  b: *a\n'
        )

        made = yaml.safe_load(template.load(text).with_hints('g'))

        self.assertEqual(
            {'a': 'a', 'b': 'b'},
            {
                name: each['properties']['scheduler_hints']['vrt_member']
                for name, each in made['resources'].items()
            },
        )

    def test_other_hints_are_kept_and_old_ones_replaced(self):
        text = self.template_text(
            'scheduler_hints: {mine: 1, vrt_group: old, vrt_member: x}'
        )

        made = yaml.safe_load(template.load(text).with_hints('new'))

        self.assertEqual(
            {'mine': 1, 'vrt_group': 'new', 'vrt_member': 'a'},
            made['resources']['a']['properties']['scheduler_hints'],
        )

    @hypothesis.settings(
        max_examples=30, deadline=None, derandomize=True, database=None
    )
    @hypothesis.given(templates())
    def test_emitted_template_has_the_same_servers(self, written):
        first = template.load(yaml.safe_dump(written), name='shop')
        second = template.load(first.with_hints('g'), name='shop')

        self.assertEqual(
            _without_groups(first.servers), _without_groups(second.servers)
        )
        self.assertEqual(
            second.with_hints('g'),
            template.load(second.with_hints('h')).with_hints('g'),
        )
        self.assertEqual(
            len(first.servers),
            len(template.load(yaml.safe_dump(written)).servers),
        )


def _without_groups(servers):
    """Return the servers without their groups and names."""
    return {
        path.rpartition('/')[2]: {**each, 'name': None}
        for path, each in servers.items()
    }

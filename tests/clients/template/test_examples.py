# SPDX-License-Identifier: Apache-2.0
"""Examples of templates in the documentation."""

import pathlib

import yaml

from nova_groupext_client import template
from tests.clients.template import base

DOC = pathlib.Path(__file__).parents[3] / 'doc' / 'source'
EXAMPLES = DOC / 'examples' / 'templates'


def example(name, values=None):
    text = (EXAMPLES / f'{name}.yaml').read_text()
    return template.load(text, values, name, EXAMPLES)


class TestExamples(base.TemplateTestCase):
    def test_examples_are_documented_and_emit_plain_heat(self):
        page = (DOC / 'user' / 'templates.rst').read_text()

        for path in EXAMPLES.iterdir():
            self.assertIn(f'../examples/templates/{path.name}', page)
            loaded = example(path.stem)
            emitted = yaml.safe_load(loaded.with_hints('group'))
            for section in ('members', 'groups', 'policies', 'relationships'):
                self.assertNotIn(section, emitted)

    def test_pair_example_has_two_equal_members(self):
        server = {'flavor': 'm1.small', 'image': 'cirros'}

        self.assertEqual(
            {'members': {'master': server, 'standby': server}},
            example('pair').definition,
        )

    def test_shop_example_has_related_front_and_data(self):
        loaded = example('shop', {'webs': '6'})
        made = loaded.definition

        self.assertEqual({'front', 'data'}, set(made['groups']))
        web, cache = (
            made['groups']['front']['members'][n] for n in ('web', 'cache')
        )
        self.assertEqual(
            (6, 2, 0), (web['count'], web['min_count'], cache['min_count'])
        )
        [relationship] = made['relationships']
        self.assertEqual(['front/web', 'data/db'], relationship['between'])
        self.assertIn(
            'server 5 of shop', loaded.servers['front/web-5']['user_data']
        )

    def test_with_heat_example_creates_no_servers_itself(self):
        loaded = example('with-heat')

        self.assertEqual(['port', 'disk'], loaded.others)
        self.assertTrue(
            loaded.definition['members']['store']['boot_from_volume']
        )
        self.assertRaises(
            template.TemplateError, lambda it: it.servers, loaded
        )

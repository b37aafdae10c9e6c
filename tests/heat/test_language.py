# SPDX-License-Identifier: Apache-2.0
"""Members are read from templates that use all of Heat's language."""

from tests.heat import base
from tests.heat import hot


class TestLanguage(base.HeatTestCase):
    def test_server_of_a_false_condition_is_no_member(self):
        template = hot.template(
            {
                'group': hot.group(),
                'a': {**hot.server('a'), 'condition': 'is_small'},
                'b': {**hot.server('b'), 'condition': 'is_large'},
            },
            parameters={'size': {'type': 'string', 'default': 'small'}},
            conditions={
                f'is_{size}': {'equals': [{'get_param': 'size'}, size]}
                for size in ('small', 'large')
            },
        )

        self.check_created(template, 'a')

    def test_functions_are_resolved_before_anything_exists(self):
        path = {
            'str_replace': {
                'template': 'GROUP/NAME',
                'params': {'GROUP': 'web', 'NAME': {'get_param': 'name'}},
            }
        }
        flavor = {
            'yaql': {
                'expression': '$.data.where($.startsWith(m1)).first()',
                'data': ['m2.large', 'm1.tiny', 'm1.small'],
            }
        }
        policies = {
            'repeat': {
                'for_each': {'%scope%': ['host', 'rack']},
                'template': {'type': 'anti-affinity', 'scope': '%scope%'},
            }
        }
        template = hot.template(
            {
                'group': hot.group(groups={'web': {'policies': policies}}),
                'a': hot.server(path, flavor=flavor),
                'b': hot.server('web/b'),
            },
            parameters={'name': {'type': 'string', 'default': 'a'}},
        )

        self.check_created(template, 'web/a', 'web/b')

        web = self.the_group()['topology']['groups']['web']
        self.assertEqual(2, len(web['policies']))
        self.assertEqual('m1.tiny', web['members']['a']['flavor'])

    def test_servers_two_levels_below_are_members(self):
        """A group of resources, whose units are stacks with servers."""
        parameters = {
            'group': {'type': 'string'},
            'number': {'type': 'number'},
        }
        path = {
            'str_replace': {
                'template': 'cell-N/web-%index%',
                'params': {'N': {'get_param': 'number'}},
            }
        }
        web = hot.server(path)
        web['properties']['scheduler_hints']['vrt_group'] = {
            'get_param': 'group'
        }
        cell = hot.template({'webs': hot.many(2, web)}, parameters=parameters)
        cells = hot.many(
            2,
            {
                'type': 'cell.yaml',
                'properties': {
                    'group': {'get_resource': 'group'},
                    'number': '%index%',
                },
            },
        )

        self.check_created(
            {'group': hot.group(), 'cells': cells},
            *(f'cell-{n}/web-{m}' for n in range(2) for m in range(2)),
            files={'cell.yaml': cell},
        )

# SPDX-License-Identifier: Apache-2.0
"""Heat's conditions: their evaluation, and servers that they omit."""

from nova_groupext_client import template
from tests.clients.template import base

PARAMETERS = """
size: {type: string, default: small}
spare: {type: boolean, default: false}
zones: {type: comma_delimited_list, default: "az1,az2"}
"""
SHOP = f"""\
heat_template_version: 2021-04-16
parameters:
  spare: {{type: boolean, default: false}}
conditions:
  spared: {{get_param: spare}}
resources:
  web:{base.SERVER}
  db:{base.SERVER}
  standby:
    condition: spared
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:{base.SERVER.replace(chr(10), chr(10) + ' ' * 4)}
groups:
  data:
    members: [db, standby]
    policies:
      - if: [spared, {{type: anti-affinity, scope: host}}]
      - {{type: affinity, scope: zone}}
relationships:
  - {{name: copies, between: [db, standby-1]}}
  - {{name: queries, between: [web, data/db]}}
"""
WEB = {'flavor': 'm1.tiny', 'image': 'cirros'}
WITHIN = {'name': 'of web', 'between': ['web', 'web']}
TIERS = f"""\
heat_template_version: 2021-04-16
parameters:
  spare: {{type: boolean, default: false}}
resources:
  web:{base.SERVER}
  db:{base.SERVER}    condition: {{get_param: spare}}
  copy:{base.SERVER}    condition: {{get_param: spare}}
groups:
  data:
    members: {{db: {{min_count: 0}}}}
    policies:
      - {{type: affinity, scope: zone}}
    groups:
      cold:
        members: [copy]
relationships:
  - {{name: of data, between: [web, data]}}
  - {{name: of cold, between: [web, data/cold]}}
  - {{name: of copy, between: [web, copy]}}
  - {{name: of web, between: [web, web]}}
"""
LOOKS_ALIKE = f"""\
heat_template_version: 2021-04-16
resources:
  a:{base.SERVER}
  c:{base.SERVER}
  db:{base.SERVER}    condition: false
groups:
  {{group}}: {{{{members: [a]}}}}{{close}}
  h: {{{{members: [c]}}}}
relationships:
  - {{{{between: [{{end}}, h]}}}}
"""


class TestConditions(base.TemplateTestCase):
    def chosen(self, condition, **conditions):
        """Return the value that an ``if`` chooses by a condition."""
        sections = {'parameters': PARAMETERS}
        if conditions:
            sections['conditions'] = '\n'.join(
                f'{name}: {each}' for name, each in conditions.items()
            )
        return self.evaluate(f'{{if: [{condition}, "yes", "no"]}}', **sections)

    def test_conditions_are_evaluated(self):
        small = '{equals: [{get_param: size}, small]}'
        for condition, expected in (
            ('true', 'yes'),
            ('{get_param: spare}', 'no'),
            (small, 'yes'),
            (f'{{not: {small}}}', 'no'),
            (f'{{and: [{small}, {{get_param: spare}}]}}', 'no'),
            (f'{{or: [{small}, {{get_param: spare}}]}}', 'yes'),
            ('{contains: [az2, {get_param: zones}]}', 'yes'),
            ('{contains: [az3, {get_param: zones}]}', 'no'),
        ):
            self.assertEqual(expected, self.chosen(condition), condition)

    def test_conditions_may_refer_to_other_conditions(self):
        self.assertEqual(
            'yes',
            self.chosen(
                'both',
                both='{and: [is_small, {not: is_spare}]}',
                is_small='{equals: [{get_param: size}, small]}',
                is_spare='{get_param: spare}',
            ),
        )

    def test_value_not_chosen_is_not_evaluated(self):
        call = '{if: [false, {get_resource: other}, here]}'

        self.assertEqual('here', self.evaluate(call))

    def test_false_if_without_a_second_value_removes_the_entry(self):
        loaded = self.load(
            'tags: [a, {if: [false, b]}]\n'
            'key_name: {if: [false, mine]}\n'
            'metadata: {x: 1, y: {if: [false, 2]}}'
        )

        made = loaded.servers['a']
        self.assertEqual(['a'], made['tags'])
        self.assertEqual({'x': '1'}, made['metadata'])
        self.assertNotIn('key_name', made)

    def test_invalid_conditions_are_errors(self):
        deep = {f'c{n}': f'c{n + 1}' for n in range(80)}
        nots = {
            f'n{n}': f'{"{not: " * 56}n{n + 1}{"}" * 56}' for n in range(63)
        }
        ands = {
            f'a{n}': f'{"{and: [true, " * 28}a{n + 1}{"]}" * 28}'
            for n in range(63)
        }
        inside = '{if: [true, 1, 2]}'
        for condition, conditions, pattern in (
            ('nothing', {}, 'names no condition: "nothing"'),
            ('a', {'a': 'b', 'b': '{not: a}'}, 'refers to itself'),
            ('c0', {**deep, 'c80': 'true'}, 'more than 64 conditions'),
            ('n0', {**nots, 'n63': 'true'}, 'more than 64 conditions'),
            ('a0', {**ands, 'a63': 'true'}, 'more than 64 conditions'),
            (f'{{equals: [{inside}, 1]}}', {}, 'belongs to an "if"'),
            (f'{{equals: [[1, {inside}], 1]}}', {}, 'belongs to an "if"'),
            ('1', {}, 'must be true or false'),
            ('{get_param: size}', {}, 'must be true or false'),
            ('{equals: [1]}', {}, 'a list of two values'),
            ('{and: [true]}', {}, 'at least two conditions'),
            ('{contains: [1, 2]}', {}, 'must be a list'),
        ):
            error = self.assertRaises(
                template.TemplateError, self.chosen, condition, **conditions
            )
            self.assertRegex(str(error), pattern)
        for call in ('{if: []}', '{if: true}', '{equals: [1, 1]}'):
            self.assert_refused(
                self.template_text(f'user_data: {call}'), 'must be|is a funct'
            )

    def test_second_use_of_an_invalid_condition_is_an_error(self):
        loaded = self.load('user_data: {if: [a, x]}', conditions='a: b\nb: 1')

        for _ in range(2):
            error = self.assertRaises(
                template.TemplateError, lambda it: it.servers, loaded
            )
            self.assertIn('must be true or false', error.reason)

    def test_repeated_conditions_are_evaluated_once(self):
        doubled = {
            f'c{n}': f'{{and: [c{n + 1}, c{n + 1}]}}' for n in range(30)
        }

        self.assertEqual('no', self.chosen('c0', **doubled, c30='false'))


class TestServers(base.TemplateTestCase):
    def test_omitted_servers_are_removed_from_the_sections(self):
        made = template.load(SHOP)

        self.assertEqual({'web', 'data/db'}, {*made.servers})
        [queries] = made.definition['relationships']
        self.assertEqual('queries', queries['name'])
        [policy] = made.definition['groups']['data']['policies']
        self.assertEqual('affinity', policy['type'])
        error = made.locate_error(
            '$.vrt_group.topology.relationships[0]: is odd'
        )
        self.assertEqual(SHOP.count('\n'), error.line)

    def test_conditional_servers_are_included_if_true(self):
        made = template.load(SHOP, {'spare': 'true'})

        self.assertEqual(
            {'web', 'data/db', 'data/standby-0', 'data/standby-1'},
            {*made.servers},
        )
        self.assertEqual(2, len(made.definition['relationships']))
        self.assertEqual(2, len(made.definition['groups']['data']['policies']))

    def test_groups_of_omitted_servers_are_removed(self):
        without = template.load(TIERS).definition
        everybody = template.load(TIERS, {'spare': True}).definition

        self.assertEqual(
            {'members': {'web': WEB}, 'relationships': [WITHIN]}, without
        )
        self.assertEqual(
            {'data', 'cold'},
            {*everybody['groups'], *everybody['groups']['data']['groups']},
        )
        self.assertEqual(4, len(everybody['relationships']))

    def test_remaining_parts_stay_related(self):
        text = TIERS.replace(
            'between: [web, data]', 'between: [web, other, data]'
        ).replace('resources:', f'resources:\n  other:{base.SERVER}', 1)

        made = template.load(text).definition

        found, within = made['relationships']
        self.assertEqual('of data', found['name'])
        self.assertEqual(['web', 'other'], found['between'])
        self.assertEqual(WITHIN, within)

    def test_groups_with_remaining_servers_are_kept(self):
        kept = TIERS.replace('members: [copy]', 'members: [copy, web]')

        made = template.load(kept).definition

        cold = {'members': {'web': WEB}}
        self.assertEqual({'cold': cold}, made['groups']['data']['groups'])
        self.assertEqual(
            ['of data', 'of cold', 'of web'],
            [each['name'] for each in made['relationships']],
        )

    def test_groups_without_servers_are_passed_to_the_api(self):
        for spare in (False, True):
            nobody = TIERS.replace('groups:\n', 'groups:\n  nobody: {}\n', 1)

            made = template.load(nobody, {'spare': spare}).definition

            self.assertEqual({}, made['groups']['nobody'])

    def test_names_similar_to_omitted_servers_are_kept(self):
        for group, end in (
            ('db-2', 'db-2'),
            ('db', 'db'),
            ('x: {groups: {db-2', 'x/db-2'),
        ):
            text = LOOKS_ALIKE.format(
                group=group, end=end, close='}' * group.count('{')
            )

            made = template.load(text).definition

            [found] = made['relationships']
            self.assertEqual([end, 'h'], found['between'])

    def test_omitted_server_may_have_a_number_in_its_name(self):
        text = SHOP.replace('standby', 'db-2').replace('db-2-1', 'db-2')

        [found] = template.load(text).definition['relationships']

        self.assertEqual('queries', found['name'])

    def test_count_of_zero_omits_the_servers(self):
        text = SHOP.replace('condition: spared', 'depends_on: db')

        made = template.load(text.replace('count: 2', 'count: 0'))

        self.assertEqual({'web', 'data/db'}, {*made.servers})
        [queries] = made.definition['relationships']
        self.assertEqual('queries', queries['name'])
        self.assertIn('count: 0', made.with_hints('group'))

    def test_emitted_template_keeps_its_conditions(self):
        emitted = template.load(SHOP).with_hints('group')

        self.assertIn('condition: spared', emitted)
        self.assertEqual(2, emitted.count('vrt_member'))

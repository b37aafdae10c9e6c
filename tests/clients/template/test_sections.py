# SPDX-License-Identifier: Apache-2.0
"""Errors in the sections of a template, and their positions."""

from tests.clients.template import base

HOSTS = '- {type: anti-affinity, scope: host}'


class TestSections(base.TemplateTestCase):
    def changed(self, old, new, reason, place):
        """Replace a text of the template, and check the error."""
        self.assertIn(old, base.SHOP)
        self.assert_refused(base.SHOP.replace(old, new, 1), reason, place)

    def test_unknown_and_invalid_sections_are_located(self):
        unknown = 'is not a section of a template; allowed:'
        self.changed('policies:\n  - {', 'rules:\n  - {', unknown, 'rules')
        self.changed('heat_', 'soup_', unknown, 'soup_')
        self.changed('2021-04-16', '20210416', 'must be a date', 'heat_')
        self.changed('A shop', '[a]', 'must be a string', 'description')
        self.changed('parameters:', 'parameters: 1\nx:', unknown, 'x:')

    def test_texts_that_other_commands_read_are_told_apart(self):
        for text in ('topology: {members: {}}', 'vrt_group: {}'):
            self.assert_refused(text, 'on the command line: --definition')
        group = 'resources:\n  group: {type: OS::Nova::VRTGroup}\n'
        self.assert_refused(
            f'heat_template_version: pike\n{group}',
            'openstack stack create',
            'group: {type',
        )

    def test_missing_sections_are_located(self):
        pike = 'heat_template_version: pike\n'
        self.assert_refused('resources: {}\n', 'needs heat_template_version')
        self.assert_refused(pike, 'needs resources')
        self.assert_refused(
            f'{pike}resources: {{n: {{type: a}}}}\n',
            'describes no server',
            'resources',
        )

    def test_errors_in_groups_are_located(self):
        part = 'is not a part of a group'
        self.changed(
            '      cache:\n    p', '      cash:\n    p', 'names no s', 'cash'
        )
        self.changed('[db]', '[web]', 'is in another group', 'web]')
        self.changed('[db]', '[db, db]', 'names "db" twice', 'db]')
        self.changed('[db]', 'db', 'must be a list', 'members: db')
        self.changed('  store:', '  a/b:', 'without slashes', 'a/b')
        self.changed('  store:', '  db:', 'no server has', 'db:\n        mem')
        self.changed('  store:', '  s:\n        x: 1', part, 'x: 1')

    def test_errors_in_min_count_are_located(self):
        part = 'is not a part of a member'
        self.changed('{min_count: 2}', '{count: 2}', part, 'count: 2')
        self.changed('min_count: 2', 'min_count: -1', 'at least 0', 'min_')
        self.changed('min_count: 2', 'min_count: 1.5', 'whole', 'min_')

    def test_errors_in_policies_are_located(self):
        self.changed(HOSTS, '- a', 'must be a mapping', 'a\n    groups')
        unknown = 'names no parameter: "s"'
        self.changed(
            'scope: zone', 'scope: {get_param: s}', unknown, 'get_param: s'
        )

    def test_errors_in_relationships_are_located(self):
        unknown = 'names no server or group in this one: "cash"'
        self.changed('[web, db]', '[web, cash]', unknown, 'cash')
        self.changed('[web, db]', 'db', 'must be a list', 'between')
        self.changed('between: [web, db]', 'x: 1', 'needs between', 'name: q')

    def test_errors_in_resources_are_located(self):
        self.changed('{get_param: webs}', '-1', 'at least 0', 'count')
        self.changed('{get_param: webs}', 'x', 'must be a number', 'count')
        self.changed('{get_param: webs}', '10000', 'more than', 'resources')
        self.changed(
            '          image:',
            '          key_name:',
            'needs an image',
            'properties:\n          n',
        )
        self.changed(
            '  cache:',
            '  cache:\n    condition: x',
            'names no condition',
            'cond',
        )

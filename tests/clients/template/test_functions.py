# SPDX-License-Identifier: Apache-2.0
"""Are Heat's functions worth what they are worth in Heat?"""

import pathlib
import tempfile

from nova_groupext_client import template
from tests.clients.template import base

JSON = 'p: {type: json, default: {a: [1, {b: deep}]}}'


class TestFunctions(base.TemplateTestCase):
    def test_get_param(self):
        for expression, value in {
            '{get_param: p}': '{"a": [1, {"b": "deep"}]}',
            '{get_param: [p, a, 1, b]}': 'deep',
            '{get_param: [p, a, 7]}': '',
            '{get_param: [p, nothing]}': '',
            '{get_param: "OS::stack_name"}': 'shop',
        }.items():
            self.assertEqual(value, self.value(expression, parameters=JSON))

    def test_str_replace_goes_over_the_text_once(self):
        expression = (
            '{str_replace: {template: a-ab-$c-$c, '
            'params: {a: ab, ab: 1, $c: {get_param: "OS::stack_name"}}}}'
        )

        self.assertEqual('ab-1-shop-shop', self.value(expression))

    def test_str_replace_in_an_empty_text(self):
        for function, params in (
            ('str_replace', '{a: b}'),
            ('str_replace_strict', '{}'),
        ):
            call = f'{{{function}: {{template: "", params: {params}}}}}'
            self.assertEqual('', self.value(call))

    def test_texts_of_what_is_no_text(self):
        expression = (
            '{list_join: ["|", ["1", null, {a: [1.5]}], '
            '{list_concat: [[x], [y]]}]}'
        )

        self.assertEqual('1||{"a": [1.5]}|x|y', self.value(expression))
        self.assertEqual(
            'True {"x": 1} ',
            self.value(
                '{str_replace: {template: a b c, '
                'params: {a: true, b: {x: 1}, c: null}}}'
            ),
        )

    def test_map_merge(self):
        made = self.load('metadata: {map_merge: [{a: 1, b: 2}, {b: 3}]}')

        self.assertEqual({'a': '1', 'b': '3'}, made.servers['a']['metadata'])

    def test_what_only_heat_knows(self):
        for call in (
            '{get_resource: other}',
            '{get_attr: [other, name]}',
            "{get_param: 'OS::project_id'}",
            "{get_param: ['OS::stack_id']}",
            '{str_replace: {template: a, params: {a: {get_resource: b}}}}',
            '{digest: [md5, x]}',
        ):
            text = self.hot(f'user_data: {call}')
            loaded = template.load(text)
            self.assertIn(call, loaded.with_hints('g'))
            self.refused(text, 'the stack|only Heat has')

    def test_creating_by_what_only_heat_knows_is_left_to_heat(self):
        for text in (
            'user_data: {get_resource: other}',
            "name: {get_param: 'OS::stack_id'}",
            'user_data: {digest: [md5, x]}',
            'networks: [{subnet: x}]',
            'user_data_format: SOFTWARE_CONFIG',
        ):
            told = str(self.refused(self.hot(text), 'Heat|the stack'))
            self.assertIn('openstack vrt group create --template', told)
            self.assertIn('openstack vrt deploy FILE --emit-heat', told)

    def test_describing_by_what_only_heat_knows_is_left_to_parameters(self):
        for text in (
            'availability_zone: {get_attr: [other, zone]}',
            "availability_zone: {get_param: 'OS::project_id'}",
            'availability_zone: {yaql: {}}',
        ):
            told = str(self.refused(self.hot(text), 'Heat|the stack'))
            self.assertIn('needed to describe the group', told)
            self.assertNotIn('--emit-heat', told)

    def test_misspelt_functions_are_refused_where_they_stand(self):
        for text, reason in {
            'user_data: {str_replac: {template: a, params: {a: b}}}': (
                'user_data.str_replac: is no function; did you mean '
                'str_replace?'
            ),
            'user_data: {str_replace: {template: a, params: '
            '{a: {get_parm: x}}}}': 'get_parm: .*mean get_param',
            'user_data: {if: [true, {get_fle: x}]}': 'mean get_file',
            'metadata: {a: {get_parm: x}}': 'a.get_parm: .*mean get_param',
            'metadata: {list_jion: [x]}': 'mean list_join',
            'scheduler_hints: {a: [{get_parameter: x}]}': 'mean get_param',
            'name: {getparam: x}': 'mean get_param',
            'tags: [{str_splitt: x}]': 'mean str_split',
        }.items():
            error = self.refused(self.hot(text), reason)
            self.assertEqual(10, error.line)

    def test_no_mapping_or_list_is_written_for_a_text(self):
        for text, reason in {
            '{serve: shop}': 'serve: is no function$',
            '{iff: [true, x]}': r'iff: is no function; did you mean if\?',
            '{a: b, c: d}': 'user_data: must be a text',
            '{}': 'user_data: must be a text',
            '[a]': 'user_data: must be a text',
        }.items():
            error = self.refused(self.hot(f'user_data: {text}'), reason)
            self.assertEqual(10, error.line)

    def test_keys_that_are_words_are_no_misspelt_functions(self):
        for text in ('{filters: x}', '{equal: x}', '{no: x}', '{digests: x}'):
            made = self.load(f'metadata: {{a: {text}, b: c}}')
            self.assertIn(text[1:3], made.servers['a']['metadata']['a'])
            self.load(f'metadata: {text}').servers  # noqa: B018

    def test_wrong_arguments(self):
        for call, reason in {
            '{get_param: q}': 'names no parameter: "q"',
            '{get_param: []}': 'needs the name',
            '{get_param: "OS::stack"}': 'names no parameter',
            '{str_replace: a}': 'must be a mapping',
            '{str_replace: {template: a}}': 'needs params',
            '{str_replace: {template: null, params: {}}}': 'must be a text',
            '{str_replace: {template: a, params: {"": b}}}': 'have ""',
            '{str_replace_strict: {template: a, params: {b: c}}}': 'have "b"',
            '{list_join: [","]}': 'must be a list: a delimiter',
            '{list_join: [",", a]}': 'must be a list',
            '{list_join: [",", [1]]}': 'must be a text',
            '{get_file: a}': 'beside a template',
        }.items():
            error = self.refused(self.hot(f'user_data: {call}'), reason)
            self.assertEqual(10, error.line)


class TestFiles(base.TemplateTestCase):
    def setUp(self):
        super().setUp()
        top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = top / 'here'
        self.folder.mkdir()
        (self.folder / 'init.sh').write_text('#!/bin/sh\n')
        (self.folder / 'bin').write_bytes(b'\xff')
        (top / 'secret').write_text('secret')
        (self.folder / '.hidden').write_text('secret')
        (self.folder / '.git').mkdir()
        (self.folder / '.git' / 'config').write_text('secret')
        (self.folder / 'link').symlink_to(top / 'secret')
        (self.folder / 'loop').symlink_to(self.folder / 'loop')

    def test_file_beside_the_template(self):
        self.assertEqual(
            '#!/bin/sh\n', self.value('{get_file: init.sh}', None, self.folder)
        )

    def test_nothing_else_is_read(self):
        for name, reason in {
            '../secret': 'outside',
            'link': 'outside',
            '/etc/hostname': 'outside',
            'file:///etc/hostname': 'names no file',
            'nothing': 'names no file',
            '.': 'names no file',
            '.hidden': 'is hidden',
            '.git/config': 'is hidden',
            'bin': 'no text',
            300 * 'a': 'cannot be read',
            'loop': 'cannot be read|names no file',
        }.items():
            loaded = self.load(
                f'user_data: {{get_file: {name}}}', None, self.folder
            )
            error = self.assertRaises(
                template.TemplateError, lambda it: it.servers, loaded
            )
            self.assertRegex(error.reason, reason)

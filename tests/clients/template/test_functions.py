# SPDX-License-Identifier: Apache-2.0
"""Heat's functions, and files that templates read."""

import pathlib
import tempfile

from nova_groupext_client import template
from tests.clients.template import base

JSON = 'p: {type: json, default: {a: [1, {b: deep}]}}'


class TestFunctions(base.TemplateTestCase):
    def test_get_param_resolves_paths_and_the_stack_name(self):
        for expression, value in {
            '{get_param: p}': '{"a": [1, {"b": "deep"}]}',
            '{get_param: [p, a, 1, b]}': 'deep',
            '{get_param: [p, a, 7]}': '',
            '{get_param: [p, nothing]}': '',
            '{get_param: "OS::stack_name"}': 'shop',
        }.items():
            self.assertEqual(value, self.evaluate(expression, parameters=JSON))

    def test_str_replace_replaces_in_one_pass(self):
        expression = (
            '{str_replace: {template: a-ab-$c-$c, '
            'params: {a: ab, ab: 1, $c: {get_param: "OS::stack_name"}}}}'
        )

        self.assertEqual('ab-1-shop-shop', self.evaluate(expression))

    def test_str_replace_accepts_an_empty_template(self):
        for function, params in (
            ('str_replace', '{a: b}'),
            ('str_replace_strict', '{}'),
        ):
            call = f'{{{function}: {{template: "", params: {params}}}}}'
            self.assertEqual('', self.evaluate(call))

    def test_other_values_are_converted_to_text(self):
        expression = (
            '{list_join: ["|", ["1", null, {a: [1.5]}], '
            '{list_concat: [[x], [y]]}]}'
        )

        self.assertEqual('1||{"a": [1.5]}|x|y', self.evaluate(expression))
        self.assertEqual(
            'True {"x": 1} ',
            self.evaluate(
                '{str_replace: {template: a b c, '
                'params: {a: true, b: {x: 1}, c: null}}}'
            ),
        )

    def test_map_merge_prefers_the_last_mapping(self):
        made = self.load('metadata: {map_merge: [{a: 1, b: 2}, {b: 3}]}')

        self.assertEqual({'a': '1', 'b': '3'}, made.servers['a']['metadata'])

    def test_values_that_only_heat_has_are_emitted_or_refused(self):
        for call in (
            '{get_resource: other}',
            '{get_attr: [other, name]}',
            "{get_param: 'OS::project_id'}",
            "{get_param: ['OS::stack_id']}",
            '{str_replace: {template: a, params: {a: {get_resource: b}}}}',
            '{digest: [md5, x]}',
        ):
            text = self.template_text(f'user_data: {call}')
            loaded = template.load(text)
            self.assertIn(call, loaded.with_hints('g'))
            self.assert_refused(text, 'the stack|only Heat has')

    def test_servers_with_values_of_heat_suggest_heat_output(self):
        for text in (
            'user_data: {get_resource: other}',
            "name: {get_param: 'OS::stack_id'}",
            'user_data: {digest: [md5, x]}',
            'networks: [{subnet: x}]',
            'user_data_format: SOFTWARE_CONFIG',
        ):
            told = str(
                self.assert_refused(self.template_text(text), 'Heat|the stack')
            )
            self.assertIn('openstack vrt group create --template', told)
            self.assertIn('openstack vrt deploy FILE --emit-heat', told)

    def test_descriptions_with_values_of_heat_are_refused(self):
        for text in (
            'availability_zone: {get_attr: [other, zone]}',
            "availability_zone: {get_param: 'OS::project_id'}",
            'availability_zone: {yaql: {}}',
        ):
            told = str(
                self.assert_refused(self.template_text(text), 'Heat|the stack')
            )
            self.assertIn('description of the group needs it', told)
            self.assertNotIn('--emit-heat', told)

    def test_misspelt_functions_are_refused_with_their_line(self):
        for text, reason in {
            'user_data: {str_replac: {template: a, params: {a: b}}}': (
                'user_data.str_replac: is not a function; did you mean '
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
            error = self.assert_refused(self.template_text(text), reason)
            self.assertEqual(10, error.line)

    def test_mapping_or_list_for_a_text_is_refused(self):
        for text, reason in {
            '{serve: shop}': 'serve: is not a function$',
            '{iff: [true, x]}': 'iff: is not a function; did you mean if\\?',
            '{a: b, c: d}': 'user_data: must be a string',
            '{}': 'user_data: must be a string',
            '[a]': 'user_data: must be a string',
        }.items():
            error = self.assert_refused(
                self.template_text(f'user_data: {text}'), reason
            )
            self.assertEqual(10, error.line)

    def test_plain_keys_are_no_misspelt_functions(self):
        for text in ('{filters: x}', '{equal: x}', '{no: x}', '{digests: x}'):
            made = self.load(f'metadata: {{a: {text}, b: c}}')
            self.assertIn(text[1:3], made.servers['a']['metadata']['a'])
            self.load(f'metadata: {text}').servers  # noqa: B018

    def test_wrong_arguments_are_refused(self):
        for call, reason in {
            '{get_param: q}': 'names no parameter: "q"',
            '{get_param: []}': 'needs the name',
            '{get_param: "OS::stack"}': 'names no parameter',
            '{str_replace: a}': 'must be a mapping',
            '{str_replace: {template: a}}': 'needs params',
            '{str_replace: {template: null, params: {}}}': 'must be a string',
            '{str_replace: {template: a, params: {"": b}}}': 'contain ""',
            '{str_replace_strict: {template: a, params: {b: c}}}': (
                'does not contain "b"'
            ),
            '{list_join: [","]}': 'must be a list: a delimiter',
            '{list_join: [",", a]}': 'must be a list',
            '{list_join: [",", [1]]}': 'must be a string',
            '{get_file: a}': 'if the template is in a file',
        }.items():
            error = self.assert_refused(
                self.template_text(f'user_data: {call}'), reason
            )
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

    def test_file_beside_the_template_is_read(self):
        self.assertEqual(
            '#!/bin/sh\n',
            self.evaluate('{get_file: init.sh}', None, self.folder),
        )

    def test_other_files_are_refused(self):
        for name, reason in {
            '../secret': 'outside',
            'link': 'outside',
            '/etc/hostname': 'outside',
            'file:///etc/hostname': 'names no file',
            'nothing': 'names no file',
            '.': 'names no file',
            '.hidden': 'is hidden',
            '.git/config': 'is hidden',
            'bin': 'is not UTF-8 text',
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

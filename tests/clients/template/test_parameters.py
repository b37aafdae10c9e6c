# SPDX-License-Identifier: Apache-2.0
"""Parameters of templates: types, constraints and hidden values."""

import fixtures

from nova_groupext_client import template
from nova_groupext_client.template import parameters
from tests.clients.template import base


class TestParameters(base.TemplateTestCase):
    def given(self, declared, value):
        return self.evaluate(
            '{get_param: p}', {'p': value}, parameters=f'p: {{{declared}}}'
        )

    def test_values_are_converted_by_type(self):
        for kind, value, expected in (
            ('string', 'a', 'a'),
            ('number', '2', '2'),
            ('number', '2.5', '2.5'),
            ('boolean', 'yes', 'True'),
            ('json', '{"a": 1}', '{"a": 1}'),
            ('json', {'a': [1]}, '{"a": [1]}'),
            ('comma_delimited_list', 'a,b', '["a", "b"]'),
            ('comma_delimited_list', ['a', 1], '["a", "1"]'),
        ):
            self.assertEqual(expected, self.given(f'type: {kind}', value))

    def test_wrong_values_are_refused(self):
        for declared, value, reason in (
            ('type: number', 'many', 'must be a number'),
            ('type: number', '9' * 400, 'must be a number'),
            ('type: boolean', 'maybe', 'must be true or false'),
            ('type: json', 'text', 'must be a mapping'),
            ('type: json', '{', 'is not JSON'),
            ('type: text', 'a', 'must be one of string'),
            ('label: x', 'a', 'needs type'),
            ('type: string, kind: x', 'a', 'is not a part of a parameter'),
        ):
            error = self.assertRaises(
                template.TemplateError, self.given, declared, value
            )
            self.assertIn(reason, error.reason)
            self.assertEqual(3, error.line)

    def test_texts_with_surrogates_or_nul_are_refused(self):
        for declared in (
            'type: string',
            'type: string, constraints: [{allowed_pattern: .*}]',
            'type: comma_delimited_list',
            'type: json',
        ):
            for value, reason in (
                ('a\udcff', 'unpaired surrogate'),
                ('a\0', 'a NUL'),
            ):
                error = self.assertRaises(
                    template.TemplateError, self.given, declared, value
                )
                self.assertIn(reason, error.reason)
                self.assertEqual(3, error.line)
        for value in (['\udcff'], {'\udcff': 1}, {'a': ['\udcff']}):
            error = self.assertRaises(
                template.TemplateError, self.given, 'type: json', value
            )
            self.assertEqual('contains an unpaired surrogate', error.reason)

    def test_constraints_are_enforced(self):
        for kind, constraint, good, bad in (
            ('string', 'length: {min: 2, max: 3}', 'ab', 'a'),
            ('number', 'range: {max: 3}', '3', '4'),
            ('number', 'modulo: {step: 2, offset: 1}', '3', '4'),
            ('string', 'allowed_values: [a, b]', 'b', 'c'),
            ('number', 'allowed_values: [1, 2]', '2', '3'),
            ('string', 'allowed_pattern: "[a-c]+"', 'abc', 'abcd'),
            ('comma_delimited_list', 'length: {max: 1}', 'a', 'a,b'),
        ):
            declared = f'type: {kind}, constraints: [{{{constraint}}}]'
            self.given(declared, good)
            error = self.assertRaises(
                template.TemplateError, self.given, declared, bad
            )
            self.assertIn(f'its {constraint.partition(":")[0]}', error.reason)

    def test_description_of_a_constraint_is_the_error(self):
        declared = (
            'type: number, constraints: '
            '[{range: {max: 3}, description: too many for us}]'
        )

        error = self.assertRaises(
            template.TemplateError, self.given, declared, 4
        )

        self.assertEqual('too many for us', error.reason)

    def test_error_of_a_range_names_its_limits(self):
        declared = 'type: number, constraints: [{range: {min: 2, max: 20}}]'

        error = self.assertRaises(
            template.TemplateError, self.given, declared, 100
        )

        self.assertEqual(
            'is 100, not allowed by its range {"min": 2, "max": 20}',
            error.reason,
        )

    def test_hidden_values_are_not_in_errors(self):
        for kind, constraint in (
            ('string', '{length: {max: 3}}'),
            ('json', '{length: {max: 0}}'),
            ('number', '{range: {max: 3}}'),
        ):
            declared = f'type: {kind}, constraints: [{constraint}]'
            value = '{"password": 1}' if kind == 'json' else '4711'
            for hidden, told in (
                ('hidden: true', f'is not allowed by its {constraint[1:6]}'),
                ('hidden: "no"', '4711|password'),
            ):
                error = self.assertRaises(
                    template.TemplateError,
                    self.given,
                    f'{hidden}, {declared}',
                    value,
                )
                self.assertRegex(error.reason, told)

    def test_template_lists_hidden_parameters(self):
        loaded = self.load(
            parameters='a: {type: string, default: x, hidden: true}\n'
            'b: {type: string, default: x, hidden: false}\n'
            'c: {type: string, default: x}'
        )

        self.assertEqual({'a'}, loaded.hidden)
        self.assertEqual(frozenset(), self.load().hidden)

    def test_invalid_constraints_are_refused(self):
        for constraint in (
            '{}',
            '{range: {min: 1}, length: {min: 1}}',
            '{range: {least: 1}}',
            '{range: 1}',
            '{range: {min: 1}}',
            '{modulo: {step: 0, offset: 0}}',
            '{allowed_values: a}',
            '{allowed_pattern: "("}',
        ):
            self.assertRaises(
                template.TemplateError,
                self.given,
                f'type: string, constraints: [{constraint}]',
                'a',
            )

    def test_slow_pattern_is_interrupted(self):
        declared = 'type: string, constraints: [{allowed_pattern: (a+)+}]'
        self.useFixture(
            fixtures.MockPatchObject(parameters, '_PATTERN_SECONDS', 0.5)
        )

        error = self.assertRaises(
            template.TemplateError, self.given, declared, 'a' * 60 + 'b'
        )

        self.assertIn('takes too long', error.reason)

    def test_missing_and_unknown_parameters_are_refused(self):
        for values, reason in (
            ({}, 'needs a value: --parameter p=...'),
            ({'p': 1, 'q': 1}, 'has no parameter "q"'),
        ):
            error = self.assertRaises(
                template.TemplateError,
                self.load,
                values=values,
                parameters='p: {type: number}',
            )
            self.assertIn(reason, error.reason)

# SPDX-License-Identifier: Apache-2.0
"""Arbitrary texts, each of which is a template or an error with a line."""

import hypothesis
from hypothesis import strategies
import yaml

from nova_groupext_client import template
from tests.clients.template import base

WORDS = strategies.sampled_from(
    (
        *base.SHOP.split(),
        *('\t', '\n', '  ', '- ', ': ', '&a ', '*a', '<<: ', '{', ']', '"'),
        *('!!int ', '!x ', '%', '|', '>', '---\n', '? ', '1:30', '0x', '~'),
        *('get_attr: ', 'get_file: ', 'str_replace: ', '\u2028', '\x07'),
    )
)
VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-(2**70), 2**70)
    | strategies.floats()
    | strategies.text(max_size=5)
    | strategies.dates(),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(WORDS, inner, max_size=3)
    ),
    max_leaves=6,
)
SETTINGS = hypothesis.settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
DEEP = 50_000


def _places(value, way=()):
    """Yield the path, a tuple of keys, to each part of a value."""
    yield way
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in pairs:
        yield from _places(each, (*way, key))


def _put(value, way, new):
    if not way:
        return new
    key, *rest = way
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _put(copy[key], rest, new)
    return copy


SHOP = yaml.load(base.SHOP, yaml.BaseLoader)
WAYS = list(_places(SHOP))


class TestBroken(base.TemplateTestCase):
    def judge(self, text):
        """Load a template; returns its error, with a valid line, or None."""
        try:
            loaded = template.load(text, name='shop')
            loaded.with_hints('group')
            loaded.servers  # noqa: B018
        except template.TemplateError as error:
            lines = len((text + ' ').splitlines())
            self.assertLessEqual(1, error.line)
            self.assertLessEqual(error.line, lines + 1)
            self.assertLessEqual(1, error.column)
            str(error).encode()
            return error
        return None

    @SETTINGS
    @hypothesis.given(strategies.text())
    def test_any_text_is_a_template_or_a_located_error(self, text):
        self.judge(text)

    @SETTINGS
    @hypothesis.given(
        strategies.integers(0, len(base.SHOP)),
        strategies.integers(0, 12),
        strategies.lists(WORDS, max_size=3).map(''.join),
    )
    def test_error_in_changed_characters_is_located(self, start, length, text):
        self.judge(base.SHOP[:start] + text + base.SHOP[start + length :])

    @SETTINGS
    @hypothesis.given(strategies.sampled_from(WAYS), VALUES)
    def test_error_in_a_changed_value_is_located(self, way, value):
        self.judge(yaml.dump(_put(SHOP, way, value), allow_unicode=True))

    @SETTINGS
    @hypothesis.given(strategies.lists(WORDS).map(' '.join))
    def test_error_in_random_words_is_located(self, text):
        self.judge(text)

    def test_bytes_that_are_no_utf8_are_located(self):
        error = self.assertRaises(
            template.TemplateError, template.load, b'a: b\nc\xff'
        )

        self.assertEqual((2, 2), (error.line, error.column))

    def test_invalid_yaml_is_located(self):
        for text, reason, line in (
            ('', 'is empty', 1),
            ('# nothing\n', 'is empty', 1),
            ('a: b\n\tc: d\n', 'is not YAML', 2),
            ('a: b\na: c\n', 'is repeated', 2),
            ('a: *b\n', 'undefined alias', 1),
            ('a: b\n--- c\n', 'is not YAML', 2),
            ('a: \x07', 'has a character', 1),
            ('a: b\nc: "\\UFFFFFFFF"\n', 'is not YAML', 2),
            ('a: b\nc: "\\uD800"\n', 'unpaired surrogate', 2),
            ('a: b\nc: "\\0"\n', 'a NUL', 2),
            ('a: b\n"\\0": c\n', 'a NUL', 2),
            ('a:\n- !!python/object:os.system x\n', 'has the tag', 2),
            ('a: !!binary x\n', 'has the tag', 1),
            ('a: !!set {x}\n', 'has the tag', 1),
            ('a: !!int x\n', 'is not a valid int', 1),
            ('a: 0b_\n', 'is not a valid int', 1),
            ('a: .nan\n', 'too large or not a number', 1),
            (f'a: 0x{"f" * 90}\n', 'too large', 1),
            (f'a: {"9" * 401}\n', 'too many digits', 1),
            # A number to the base of sixty.
            (f'a: 1{":59" * 9000}\n', 'too many digits', 1),
            ('a: b\n? [c, d]\n: e\n', 'a key that is not a string', 2),
            ('a: &a\n  <<: *a\n', 'merges itself', 1),
            ('a:\n  <<: [b]\n', 'must merge mappings', 2),
            ('&a\na: *a\n', 'deep', 2),
        ):
            error = self.judge(text)
            self.assertIn(reason, str(error))
            self.assertEqual(line, error.line, error)

    def test_deep_nesting_is_refused(self):
        for text in ('[', '{a: ', '- ', '? ', '- - ? '):
            self.assertIn('deep', str(self.judge(text * DEEP)))
        steps = '\n'.join(f'{" " * depth}a:' for depth in range(200))
        error = self.judge(steps)
        self.assertIn('deep', error.reason)
        self.assertEqual(64, error.line)

    def test_long_text_is_refused(self):
        self.assertIn('characters', str(self.judge('a' * 600_000)))

    def test_text_with_very_many_values_is_read_no_further(self):
        """PyYAML would take seconds for the rest of any of these."""
        for start, unit, values in (
            ('[', '[[[[]]]],', 4),
            ('[', 'a: b,', 3),
            ('[', 'a,', 1),
            ('[', '{},', 1),
            ('[&a a,', '*a,', 1),
            ('', '- - -\n', 3),
        ):
            error = self.judge(start + unit * 45_000)

            self.assertIn('has more than 40000 values', error.reason)
            read = max(error.line, error.column // len(unit))
            self.assertAlmostEqual(40_000 / values, read, delta=5)

    def test_long_paths_to_many_values_are_refused(self):
        """Each value has the path to it, which may be a long text."""
        nested = ''.join(f'{" " * i}{"k" * 1000}:\n' for i in range(60))
        for text in (
            f'? {"k" * 100_000}\n: [{"a," * 30_000}]',
            f'{nested}{" " * 60}[{"a," * 30_000}]',
        ):
            self.assertIn('in long paths', self.judge(text).reason)

    def test_alias_bombs_are_refused(self):
        laughs, merges = ['a0: &a0 ha'], ['a0: &a0 {k0: 1}']
        for i in range(1, 40):
            last = f'*a{i - 1}'
            laughs.append(f'a{i}: &a{i} [{last}, {last}]')
            merges.append(f'a{i}: &a{i} {{<<: [{last}, {last}], k{i}: 1}}')
        empty = ['a0: &a0 {}', *(line.split(', k')[0] for line in merges[1:])]
        empty[1:] = [f'{line}}}' for line in empty[1:]]
        for lines in (laughs, merges, empty):
            error = self.judge('\n'.join(lines))
            self.assertIn('by aliases', error.reason)

    def test_functions_with_excessive_results_are_refused(self):
        text = 'x'
        for _ in range(8):
            text = (
                f'{{str_replace: {{template: {"x" * 500}, '
                f'params: {{x: {text}}}}}}}'
            )
        for expression in (
            text,
            '{list_join: [{get_param: long}, [' + 'a, ' * 9000 + ']]}',
        ):
            loaded = self.load(
                f'user_data: {expression}',
                parameters=f'long: {{type: string, default: {"y" * 90000}}}',
            )
            error = self.assertRaises(
                template.TemplateError, lambda it: it.servers, loaded
            )
            self.assertIn('more values than any server needs', error.reason)

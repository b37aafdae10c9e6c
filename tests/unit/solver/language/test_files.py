# SPDX-License-Identifier: Apache-2.0
"""Files from outside: what is read, and what is refused where."""

import io
import json
import os
import tempfile

import fixtures
from oslotest import base

from nova_groupext.solver.language import files
from nova_groupext.solver.language import validation


def stdin(data):
    return io.TextIOWrapper(io.BytesIO(data))


class TestLoad(base.BaseTestCase):
    def _refused(self, data):
        error = self.assertRaises(validation.InvalidInput, files.load, data)
        self.assertNotIn('\n', str(error))
        self.assertTrue(str(error).isascii())
        return error.path

    def test_a_file(self):
        value = {'a': [1, 2.5, 'b', None, True, {'c': {}}], 'd': 10**4000}
        self.assertEqual(value, files.load(json.dumps(value).encode()))

    def test_what_is_not_json(self):
        for data in (b'', b'{', b'{} {}', b"{'a': 1}", b'\xff', b'["\n"]'):
            self.assertEqual('$', self._refused(data))

    def test_a_key_that_is_repeated(self):
        self.assertEqual('$.seed', self._refused(b'{"seed": 1, "seed": 1}'))
        self.assertEqual(
            '$.hosts[1].free["a b"]',
            self._refused(b'{"hosts": [1, {"free": {"a b": 1, "a b": 2}}]}'),
        )

    def test_the_first_key_that_is_repeated_and_not_lost(self):
        for data in (
            b'{"a": {"b": 1, "b": 1}, "a": 1}',
            b'[{"a": 1, "a": 1}, {"b": 1, "b": 1}]',
        ):
            self.assertIn(self._refused(data), ('$.a', '$[0].a'))

    def test_a_number_of_thousands_of_digits(self):
        number = b'9' * 5000
        for path, data in (
            ('$', b'%s'),
            ('$', b'-%s'),
            ('$.a[2].b', b'{"a": [1, [], {"b": %s}]}'),
            ('$.a', b'{"a": 1, "a": %s}'),
        ):
            self.assertEqual(path, self._refused(data % number))

    def test_bottomless_nesting(self):
        self.assertEqual('$', self._refused(b'[' * 100_000))
        self.assertEqual('$', self._refused(b'{"a":' * 100_000))

    def test_a_huge_file(self):
        data = b' ' * (files.MAX_BYTES + 1)
        self.assertEqual('$', self._refused(data))

    def test_more_values_than_memory_should_hold(self):
        self.useFixture(fixtures.MockPatchObject(files, 'MAX_VALUES', 100))
        for data in (
            b'[' + b'{},' * 100 + b'0]',
            b'[' + b'0,' * 100 + b'0]',
            b'[' * 101,
        ):
            self.assertEqual('$', self._refused(data))
        files.load(b'[' + b'0,' * 99 + b'0]')


class TestRead(base.BaseTestCase):
    def test_a_file_and_standard_input(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b'{}')
            file.flush()
            self.assertEqual(b'{}', files.read(file.name, None))
        self.assertEqual(b'[]', files.read('-', stdin(b'[]')))

    def test_no_more_is_read_than_shows_that_it_is_too_much(self):
        self.useFixture(fixtures.MockPatchObject(files, 'MAX_BYTES', 3))
        self.assertEqual(b'1234', files.read('-', stdin(b'123456')))

    def test_what_cannot_be_read(self):
        for name in ('/does/not/exist', os.curdir, 'a\0b', '-'):
            error = self.assertRaises(
                validation.InvalidInput, files.read, name, None
            )
            self.assertIn('$: cannot be read: ', str(error))

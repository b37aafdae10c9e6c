# SPDX-License-Identifier: Apache-2.0
"""Input files: loaded values, and JSON paths of errors."""

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

    def test_json_file_is_loaded(self):
        value = {'a': [1, 2.5, 'b', None, True, {'c': {}}], 'd': 10**4000}
        self.assertEqual(value, files.load(json.dumps(value).encode()))

    def test_invalid_json_is_refused(self):
        for data in (b'', b'{', b'{} {}', b"{'a': 1}", b'\xff', b'["\n"]'):
            self.assertEqual('$', self._refused(data))

    def test_repeated_key_is_refused_with_its_path(self):
        self.assertEqual('$.seed', self._refused(b'{"seed": 1, "seed": 1}'))
        self.assertEqual(
            '$.hosts[1].free["a b"]',
            self._refused(b'{"hosts": [1, {"free": {"a b": 1, "a b": 2}}]}'),
        )

    def test_first_of_several_repeated_keys_is_named(self):
        for data in (
            b'{"a": {"b": 1, "b": 1}, "a": 1}',
            b'[{"a": 1, "a": 1}, {"b": 1, "b": 1}]',
        ):
            self.assertIn(self._refused(data), ('$.a', '$[0].a'))

    def test_number_of_thousands_of_digits_is_refused(self):
        number = b'9' * 5000
        for path, data in (
            ('$', b'%s'),
            ('$', b'-%s'),
            ('$.a[2].b', b'{"a": [1, [], {"b": %s}]}'),
            ('$.a', b'{"a": 1, "a": %s}'),
        ):
            self.assertEqual(path, self._refused(data % number))

    def test_too_deep_nesting_is_refused(self):
        self.assertEqual('$', self._refused(b'[' * 100_000))
        self.assertEqual('$', self._refused(b'{"a":' * 100_000))

    def test_huge_file_is_refused(self):
        data = b' ' * (files.MAX_BYTES + 1)
        self.assertEqual('$', self._refused(data))

    def test_too_many_values_are_refused(self):
        self.useFixture(fixtures.MockPatchObject(files, 'MAX_VALUES', 100))
        for data in (
            b'[' + b'{},' * 100 + b'0]',
            b'[' + b'0,' * 100 + b'0]',
            b'[' * 101,
        ):
            self.assertEqual('$', self._refused(data))
        files.load(b'[' + b'0,' * 99 + b'0]')


class TestRead(base.BaseTestCase):
    def test_file_and_standard_input_are_read(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b'{}')
            file.flush()
            self.assertEqual(b'{}', files.read(file.name, None))
        self.assertEqual(b'[]', files.read('-', stdin(b'[]')))

    def test_reading_stops_one_byte_beyond_the_limit(self):
        self.useFixture(fixtures.MockPatchObject(files, 'MAX_BYTES', 3))
        self.assertEqual(b'1234', files.read('-', stdin(b'123456')))

    def test_unreadable_file_is_refused(self):
        for name in ('/does/not/exist', os.curdir, 'a\0b', '-'):
            error = self.assertRaises(
                validation.InvalidInput, files.read, name, None
            )
            self.assertIn(f'{json.dumps(name)}: cannot be read: ', str(error))

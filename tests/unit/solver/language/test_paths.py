# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/solver/language/paths.py``."""

from oslotest import base

from nova_groupext.solver.language import paths


class TestSplitIndex(base.BaseTestCase):
    def test_only_plain_indexes_are_split(self):
        for path, expected in (
            ('w-12', ('w', 12)),
            ('g/w-0', ('g/w', 0)),
            ('w-01', ('w-01', -1)),
            ('w-123456789', ('w', 123456789)),
            (f'w-{"1" * 5000}', (f'w-{"1" * 5000}', -1)),
            ('w', ('w', -1)),
            ('-3', ('-3', -1)),
        ):
            self.assertEqual(expected, paths.split_index(path))

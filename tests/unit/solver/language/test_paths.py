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


class TestOuterPaths(base.BaseTestCase):
    def test_outer_paths_of_a_part_are_those_that_it_is_within(self):
        for path in ('/g', '/g/a', '/g/a-1', '/g/a/b', '/g/a/b-01', '/g/b-x'):
            expected = {
                outer
                for outer in ('/g', '/g/a', '/g/a-1', '/g/a/b', '/g/b', '/g/x')
                if outer != path and paths.is_within(path, outer)
            }

            self.assertEqual(expected, paths.outer_paths(path), path)

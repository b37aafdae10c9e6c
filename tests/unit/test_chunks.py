# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/chunks.py``."""

from oslotest import base

from nova_groupext import chunks


class TestChunked(base.BaseTestCase):
    def test_last_chunk_may_be_smaller(self):
        self.assertEqual([[0, 1], [2, 3], [4]], [*chunks.chunked(range(5), 2)])

    def test_no_items_give_no_chunk(self):
        self.assertEqual([], [*chunks.chunked([], 2)])

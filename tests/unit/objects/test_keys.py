# SPDX-License-Identifier: Apache-2.0
"""Keys that all processes of a cloud share."""

import fixtures

from nova_groupext.db import api as db
from nova_groupext.objects import keys
from tests.unit.objects import base


class TestDomainKey(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        # As in a process that has not read it yet.
        keys.get_cached.cache_clear()
        self.addCleanup(keys.get_cached.cache_clear)

    def test_key_is_stored_once_and_read_afterwards(self):
        first = keys.get_cached(keys.DOMAIN_KEY)
        keys.get_cached.cache_clear()

        self.assertEqual(first, keys.get_cached(keys.DOMAIN_KEY))
        self.assertGreaterEqual(len(first), 64)

    def test_key_stored_meanwhile_by_another_process_is_used(self):
        insert, made = db.insert, []

        def after_another(*args, **values):
            insert(*args, **{**values, 'value': 'theirs'})
            made.append(values)
            insert(*args, **values)

        self.useFixture(fixtures.MockPatchObject(db, 'insert', after_another))

        self.assertEqual('theirs', keys.get_cached(keys.DOMAIN_KEY))
        self.assertEqual(1, len(made))

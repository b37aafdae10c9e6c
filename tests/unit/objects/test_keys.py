# SPDX-License-Identifier: Apache-2.0
"""Have all processes of a cloud the same secret?"""

import fixtures

from nova_groupext.db import api as db
from nova_groupext.objects import keys
from tests.unit.objects import base


class TestDomainKey(base.GroupCase):
    def setUp(self):
        super().setUp()
        # As in a process that has not read it yet.
        keys.stored.cache_clear()
        self.addCleanup(keys.stored.cache_clear)

    def test_the_first_one_stores_what_the_others_read(self):
        first = keys.stored(keys.DOMAINS)
        keys.stored.cache_clear()

        self.assertEqual(first, keys.stored(keys.DOMAINS))
        self.assertGreaterEqual(len(first), 64)

    def test_who_is_not_the_first_one_takes_the_others(self):
        insert, made = db.insert, []

        def after_another(*args, **values):
            insert(*args, **{**values, 'value': 'theirs'})
            made.append(values)
            insert(*args, **values)

        self.useFixture(fixtures.MockPatchObject(db, 'insert', after_another))

        self.assertEqual('theirs', keys.stored(keys.DOMAINS))
        self.assertEqual(1, len(made))

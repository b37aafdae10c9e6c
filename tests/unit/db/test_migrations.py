# SPDX-License-Identifier: Apache-2.0
"""Do the migrations make the tables that the models describe?"""

from alembic import script
from oslotest import base

from nova_groupext.db import migration
from tests import fixtures


class TestMigrations(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database(sync=False))

    def test_there_is_one_head(self):
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )

        self.assertEqual([migration.head()], scripts.get_heads())

    def test_the_models_are_what_the_migrations_make(self):
        migration.sync()

        self.assertEqual([], fixtures.differences())

    def test_syncing_twice_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())

    def test_before_the_first_sync_there_is_no_version(self):
        self.assertIsNone(migration.version())

# SPDX-License-Identifier: Apache-2.0
"""Migrations, which create the tables of the models."""

from alembic import script
from oslotest import base

from nova_groupext.db import migration
from tests import fixtures


class TestMigrations(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database(sync=False))

    def test_migrations_have_one_head(self):
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )

        self.assertEqual([migration.head()], scripts.get_heads())

    def test_migrations_create_the_tables_of_the_models(self):
        migration.sync()

        self.assertEqual([], fixtures.model_differences())

    def test_second_sync_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())

    def test_version_before_the_first_sync_is_none(self):
        self.assertIsNone(migration.version())

# SPDX-License-Identifier: Apache-2.0
"""Migrations on every kind of database server."""

from nova_groupext.db import migration
from tests import fixtures
from tests.services import databases
from tests.services import servers


@databases.on(*servers.DATABASES)
class Migrations:
    SYNC = False

    def test_migrations_create_the_tables_of_the_models(self):
        migration.sync()

        self.assertEqual([], fixtures.model_differences())

    def test_second_sync_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())
        self.assertEqual([], fixtures.model_differences())

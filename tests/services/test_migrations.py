# SPDX-License-Identifier: Apache-2.0
"""Migrations on every kind of database server."""

from alembic import script

from nova_groupext.db import migration
from tests import fixtures
from tests.services import databases
from tests.services import servers

# {revision: (function that stores rows before it, function that checks them
# after it)} of each migration but the first one.
WITH_DATA = {}


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

    def test_each_later_migration_keeps_the_rows(self):
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )
        newest_first = [each.revision for each in scripts.walk_revisions()]
        first, *later = reversed(newest_first)
        migration.sync(first)

        for revision in later:
            store, check = WITH_DATA[revision]
            store()
            migration.sync(revision)
            check()

        self.assertEqual(migration.head(), migration.version())

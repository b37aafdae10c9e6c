# SPDX-License-Identifier: Apache-2.0
"""Do the migrations make the models' tables on every kind of server?"""

from alembic import script

from nova_groupext.db import migration
from tests import fixtures
from tests.services import databases
from tests.services import servers


class Migrations:
    SYNC = False

    def test_they_are_walked_one_by_one(self):
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )
        revisions = [each.revision for each in scripts.walk_revisions()]

        for revision in reversed(revisions):
            migration.sync(revision)
            self.assertEqual(revision, migration.version())

        self.assertEqual([], fixtures.differences())

    def test_syncing_again_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())
        self.assertEqual([], fixtures.differences())


class TestOnSQLite(Migrations, databases.DatabaseTestCase):
    SERVER = servers.SQLITE


class TestOnMariaDB(Migrations, databases.DatabaseTestCase):
    SERVER = servers.MARIADB


class TestOnPostgreSQL(Migrations, databases.DatabaseTestCase):
    SERVER = servers.POSTGRESQL

# SPDX-License-Identifier: Apache-2.0
"""Do the migrations make the models' tables on every kind of server?"""

from nova_groupext.db import migration
from tests import fixtures
from tests.services import databases
from tests.services import servers


@databases.on(*servers.DATABASES)
class Migrations:
    SYNC = False

    def test_they_make_the_tables_of_the_models(self):
        migration.sync()

        self.assertEqual([], fixtures.differences())

    def test_syncing_again_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())
        self.assertEqual([], fixtures.differences())

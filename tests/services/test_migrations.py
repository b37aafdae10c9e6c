# SPDX-License-Identifier: Apache-2.0
"""Do the migrations make the models' tables on every kind of server?"""

import datetime

from alembic import script
import sqlalchemy as sa

from nova_groupext.db import engine
from nova_groupext.db import migration
from tests import fixtures
from tests.services import databases
from tests.services import servers


@databases.on(*servers.DATABASES)
class Migrations:
    SYNC = False

    @staticmethod
    def revisions():
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )
        newest_first = [each.revision for each in scripts.walk_revisions()]
        return newest_first[::-1]

    def test_they_are_walked_one_by_one(self):
        for revision in self.revisions():
            migration.sync(revision)
            self.assertEqual(revision, migration.version())

        self.assertEqual([], fixtures.differences())

    def test_rows_survive_them(self):
        first, *_later = self.revisions()
        migration.sync(first)
        filled = fill()

        migration.sync()

        # Nobody works on groups, nor knows how to go on, while they are made.
        kept = [name for name in filled if name != 'vrt_intents']
        self.assertEqual(dict.fromkeys(kept, 1), fixtures.rows())

    def test_syncing_again_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())
        self.assertEqual([], fixtures.differences())


def fill():
    """Put one row into each table, as it is now; return the tables' names."""
    tables = sa.MetaData()
    with engine.get_engine().begin() as connection:
        tables.reflect(connection)
        ours = [
            table
            for table in tables.sorted_tables
            if table.name != migration.VERSION_TABLE
        ]
        for table in ours:
            row = {column.name: _sample(column) for column in table.columns}
            connection.execute(table.insert().values(row))
    return [table.name for table in ours]


def _sample(column):
    """Return a value that the column takes; keys are all 1."""
    samples = {
        int: 1,
        bool: True,
        dict: {},
        datetime.datetime: datetime.datetime(2026, 1, 1),
        # Where JSON is a text it has to be JSON.
        str: '{}',
    }
    return samples[column.type.python_type]

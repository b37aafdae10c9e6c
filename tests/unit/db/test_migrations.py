# SPDX-License-Identifier: Apache-2.0
"""Do the migrations make the tables that the models describe?"""

from alembic import script
from oslotest import base
import sqlalchemy as sa

from nova_groupext.db import engine
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

    def test_every_revision_is_walked_and_checked(self):
        scripts = script.ScriptDirectory.from_config(
            migration.alembic_config()
        )
        revisions = [each.revision for each in scripts.walk_revisions()]

        for revision in reversed(revisions):
            migration.sync(revision)
            self.assertEqual(revision, migration.version())
            getattr(self, f'_check_{revision}')()

    def _check_6d1f0a5c2b3e(self):
        tables = sa.inspect(engine.get_engine()).get_table_names()
        self.assertEqual(
            [
                'vrt_alembic_version',
                'vrt_groups',
                'vrt_holds',
                'vrt_intents',
                'vrt_members',
                'vrt_plans',
                'vrt_policies',
                'vrt_relationships',
                'vrt_subgroups',
            ],
            sorted(tables),
        )

    def _check_8a4c2e7f9b10(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_holds')
        names = {column['name'] for column in columns}
        self.assertIn('is_answered', names)
        self.assertNotIn('consumer_generation', names)

    def _check_4f6b8d0e2a97(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_projects')
        self.assertEqual(
            {'id', 'project_id', 'created_at', 'updated_at'},
            {column['name'] for column in columns},
        )

    def _check_2c9d7b4e1f58(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_holds')
        nullable = {each['name']: each['nullable'] for each in columns}
        self.assertTrue(nullable['member_id'])
        self.assertFalse(nullable['group_id'])

    def _check_9b3e5d7a1c60(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_groups')
        names = {column['name'] for column in columns}
        self.assertLessEqual({'revises_id', 'movable'}, names)

    def _check_7e3a5c1d9b20(self):
        inspector = sa.inspect(engine.get_engine())
        self.assertIn('vrt_moves', inspector.get_table_names())
        columns = inspector.get_columns('vrt_groups')
        self.assertIn('drift', {column['name'] for column in columns})

    def _check_3d8f1b6a9c42(self):
        inspector = sa.inspect(engine.get_engine())
        for table, column in (
            ('vrt_holds', 'grows_id'),
            ('vrt_members', 'server_flavor'),
        ):
            columns = inspector.get_columns(table)
            self.assertIn(column, {each['name'] for each in columns})

    def _check_3d8f6b1a9c47(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_groups')
        nullable = {each['name']: each['nullable'] for each in columns}
        self.assertFalse(nullable['keep_server'])

    def _check_3a7f9c2e5d81(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_groups')
        self.assertIn('elsewhere', {column['name'] for column in columns})

    def _check_5c1e8d3b7f62(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_members')
        nullable = {each['name']: each['nullable'] for each in columns}
        self.assertFalse(nullable['replans'])

    def _check_1e7c4a9d2b63(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_groups')
        nullable = {each['name']: each['nullable'] for each in columns}
        self.assertTrue(nullable['request_digest'])

    def _check_2b8e6d4f1a93(self):
        for table in ('vrt_projects', 'vrt_groups'):
            columns = sa.inspect(engine.get_engine()).get_columns(table)
            self.assertIn('counter', {each['name'] for each in columns})

    def _check_5a9c3e7b1d64(self):
        tables = sa.inspect(engine.get_engine()).get_table_names()
        self.assertIn('vrt_tombstones', tables)

    def _check_7c1d5e9a3b28(self):
        tables = {*sa.inspect(engine.get_engine()).get_table_names()}
        self.assertLessEqual(
            {'vrt_leases', 'vrt_boots', 'vrt_planners'}, tables
        )
        self.assertNotIn('vrt_intents', tables)

    def _check_9e2a4c6b8d13(self):
        columns = sa.inspect(engine.get_engine()).get_columns('vrt_holds')
        self.assertIn('server_uuid', {each['name'] for each in columns})

    def _check_4b9d2f7e6c15(self):
        inspector = sa.inspect(engine.get_engine())
        self.assertNotIn('vrt_tombstones', inspector.get_table_names())
        nullable = {
            column['name']: column['nullable']
            for column in inspector.get_columns('vrt_holds')
        }
        self.assertTrue(nullable['group_id'])
        self.assertFalse(nullable['leaves'])
        self.assertNotIn('is_answered', nullable)

    def test_the_models_are_what_the_migrations_make(self):
        migration.sync()

        self.assertEqual([], fixtures.differences())

    def test_syncing_twice_changes_nothing(self):
        migration.sync()
        migration.sync()

        self.assertEqual(migration.head(), migration.version())

    def test_before_the_first_sync_there_is_no_version(self):
        self.assertIsNone(migration.version())

# SPDX-License-Identifier: Apache-2.0
"""Upgrade checks of nova-groupext-status on real databases."""

import dataclasses

import sqlalchemy as sa

from nova_groupext.db import migration
from tests.services import databases
from tests.services import servers
from tests.unit.cmd import test_status
from tests.unit.cmd.test_status import FAILURE
from tests.unit.cmd.test_status import SUCCESS
from tests.unit.cmd.test_status import WARNING


def with_session(*settings):
    """Return MariaDB with settings for each connection of a test."""
    return dataclasses.replace(
        servers.MARIADB,
        url=f'{servers.MARIADB.url}?init_command='
        f'SET {", ".join(f"SESSION {each}" for each in settings)}',
    )


class StatusCase(test_status.StatusCase, databases.DatabaseTestCase):
    SYNC = False

    def section(self, name, url=None):
        return f'[{name}]\nconnection = {url or self.url}'


class Tables:
    def test_tables_fail_unless_at_the_newest_revision(self):
        ours = self.section('vrt_database')

        self.assertEqual(FAILURE, self.tables(ours)[0])
        migration.sync()
        self.assertEqual(SUCCESS, self.tables(ours)[0])

    def test_missing_database_fails(self):
        other = self.section('vrt_database', f'{self.SERVER.url}_nowhere')

        result, details = self.tables(other)

        self.assertEqual(FAILURE, result)
        self.assertIn('cannot be used', details)


class TestTablesOnMariaDB(Tables, StatusCase):
    SERVER = servers.MARIADB


class TestTablesOnPostgreSQL(Tables, StatusCase):
    SERVER = servers.POSTGRESQL


class Placement:
    """Checks of the database server of Placement's tables."""

    RESULT = WARNING
    TOLD = ''

    def test_database_server_of_placement_is_checked(self):
        self.judge(
            'placement_database', 'of [placement_database]connection was'
        )

    def test_own_server_is_checked_if_that_of_placement_is_unknown(self):
        self.judge('vrt_database', '[placement_database]connection is not set')

    def judge(self, section, looked_at):
        result, details = self.placement(self.section(section))

        self.assertEqual(self.RESULT, result, details)
        self.assertIn(looked_at, details)
        self.assertIn(self.TOLD, details)

    def test_one_attempt_of_placement_succeeds_on_any_server(self):
        result, _details = self.placement(
            self.section('placement_database'),
            '[placement]\nallocation_conflict_retry_count = 1',
        )

        self.assertEqual(SUCCESS, result)


class TestMariaDB(Placement, StatusCase):
    SERVER = with_session('innodb_snapshot_isolation = OFF')
    TOLD = 'innodb_snapshot_isolation is OFF'


class TestMariaDBWithSnapshots(Placement, StatusCase):
    SERVER = with_session('innodb_snapshot_isolation = ON')
    RESULT = SUCCESS

    def test_setting_of_connections_of_placement_alone_succeeds(self):
        server = sa.make_url(self.url).set(query={})

        result, details = self.placement(
            self.section('placement_database', server),
            'connection_parameters = '
            'init_command=SET SESSION innodb_snapshot_isolation = ON',
        )

        self.assertEqual(SUCCESS, result, details)


class TestMariaDBReadCommitted(Placement, StatusCase):
    SERVER = with_session(
        'innodb_snapshot_isolation = ON', "tx_isolation = 'READ-COMMITTED'"
    )
    TOLD = 'READ-COMMITTED'


class TestPostgreSQL(Placement, StatusCase):
    SERVER = servers.POSTGRESQL
    TOLD = 'postgresql'

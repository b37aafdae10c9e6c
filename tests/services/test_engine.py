# SPDX-License-Identifier: Apache-2.0
"""Character sets of connections to MariaDB."""

import dataclasses

import sqlalchemy as sa

from nova_groupext.db import engine
from tests.services import databases
from tests.services import servers


class TestCharacters(databases.DatabaseTestCase):
    SERVER = servers.MARIADB

    def test_connection_uses_utf8mb4_by_default(self):
        self.assertEqual('utf8mb4', characters())


class TestCharactersOfTheOperator(databases.DatabaseTestCase):
    SERVER = dataclasses.replace(
        servers.MARIADB, url=f'{servers.MARIADB.url}?charset=latin1'
    )

    def test_character_set_of_the_url_is_kept(self):
        self.assertEqual('latin1', characters())


class TestShortCharacters(databases.DatabaseTestCase):
    """As deployment tools write it."""

    SERVER = dataclasses.replace(
        servers.MARIADB, url=f'{servers.MARIADB.url}?charset=utf8'
    )

    def test_character_set_of_three_bytes_is_that_of_the_tables(self):
        self.assertEqual('utf8mb4', characters())


def characters():
    with engine.get_engine().connect() as connection:
        return connection.scalar(sa.text('SELECT @@character_set_client'))

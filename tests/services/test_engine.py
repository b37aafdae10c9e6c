# SPDX-License-Identifier: Apache-2.0
"""In which characters do we talk to MariaDB?"""

import dataclasses

import sqlalchemy as sa

from nova_groupext.db import engine
from tests.services import databases
from tests.services import servers


class TestCharacters(databases.DatabaseTestCase):
    SERVER = servers.MARIADB

    def test_there_is_room_for_all_of_unicode(self):
        self.assertEqual('utf8mb4', characters())


class TestCharactersOfTheOperator(databases.DatabaseTestCase):
    SERVER = dataclasses.replace(
        servers.MARIADB, url=f'{servers.MARIADB.url}?charset=latin1'
    )

    def test_what_the_url_names_is_kept(self):
        self.assertEqual('latin1', characters())


def characters():
    with engine.get_engine().connect() as connection:
        return connection.scalar(sa.text('SELECT @@character_set_client'))

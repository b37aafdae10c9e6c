# SPDX-License-Identifier: Apache-2.0
"""Errors of nova-groupext-manage with real databases."""

import sqlalchemy as sa

from tests.services import databases
from tests.services import servers
from tests.unit.cmd import test_manage


class MistakeCase(test_manage.ManageCase, databases.DatabaseTestCase):
    SYNC = False


class Mistakes:
    def test_missing_tables_are_reported(self):
        self.write(f'connection = {self.url}')

        told = self.mistake_in_a_shell('holds', 'stats')

        self.assertIn('Run "nova-groupext-manage db sync"', told)

    def test_refused_connection_is_reported(self):
        refused = sa.make_url(self.url).set(port=1)
        self.write(
            f'connection = {refused.render_as_string(hide_password=False)}\n'
            'max_retries = 0'
        )

        told = self.mistake_in_a_shell('holds', 'stats')

        self.assertIn('127.0.0.1', told)


class TestMistakesOnMariaDB(Mistakes, MistakeCase):
    SERVER = servers.MARIADB


class TestMistakesOnPostgreSQL(Mistakes, MistakeCase):
    SERVER = servers.POSTGRESQL

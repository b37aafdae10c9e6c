# SPDX-License-Identifier: Apache-2.0
"""Which servers are there, and what becomes of a test whose is not?"""

import dataclasses
import socket
import unittest

import fixtures
from oslotest import base

from tests.services import servers


class TestServers(base.BaseTestCase):
    def test_mariadb_is_there(self):
        servers.MARIADB.require(self)

    def test_postgresql_is_there(self):
        servers.POSTGRESQL.require(self)

    def test_rabbitmq_is_there(self):
        servers.RABBITMQ.require(self)


class TestMissing(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        # Bound and not listening: nobody answers there, or takes it.
        unused = socket.socket()
        self.addCleanup(unused.close)
        unused.bind(('127.0.0.1', 0))
        self.port = unused.getsockname()[1]

    def require(self, server, port, setting):
        self.useFixture(
            fixtures.EnvironmentVariable('VRT_REQUIRE_SERVICES', setting)
        )
        url = server.url.replace(f':{port}/', f':{self.port}/')
        dataclasses.replace(server, url=url).require(self)

    def test_a_test_is_skipped_with_the_reason(self):
        for server, port, setting in (
            (servers.MARIADB, 3306, None),
            (servers.POSTGRESQL, 5432, '0'),
            (servers.RABBITMQ, 5672, ''),
        ):
            skip = self.assertRaises(
                unittest.SkipTest, self.require, server, port, setting
            )
            self.assertIn(f'{server.name} does not answer: ', str(skip))
            self.assertIn('refused', str(skip))

    def test_a_test_fails_where_everything_has_to_be_there(self):
        failure = self.assertRaises(
            self.failureException, self.require, servers.MARIADB, 3306, '1'
        )

        self.assertIn('refused', str(failure))

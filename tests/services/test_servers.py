# SPDX-License-Identifier: Apache-2.0
"""Servers that tests need, and tests whose server is missing."""

import dataclasses
import socket
import unittest

import fixtures
from oslotest import base

from tests.services import servers


class TestServers(base.BaseTestCase):
    def test_mariadb_answers(self):
        servers.MARIADB.require(self)

    def test_postgresql_answers(self):
        servers.POSTGRESQL.require(self)

    def test_rabbitmq_answers(self):
        servers.RABBITMQ.require(self)


class TestMissing(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        # The port is bound and not listening, so that it stays unused.
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

    def test_missing_server_skips_its_test_with_the_reason(self):
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

    def test_missing_required_server_fails_its_test(self):
        failure = self.assertRaises(
            self.failureException, self.require, servers.MARIADB, 3306, '1'
        )

        self.assertIn('refused', str(failure))

# SPDX-License-Identifier: Apache-2.0
"""Databases of a test's own, on each kind of server."""

import functools
import sys
import uuid

import fixtures
from oslotest import base
import sqlalchemy as sa

from nova_groupext.cloud import databases
from tests import fixtures as test_fixtures
from tests.services import process_fixtures
from tests.services import servers


class Database(fixtures.Fixture):
    """An empty database at ``url``, which is dropped at the end."""

    def __init__(self, server):
        super().__init__()
        self._server = server

    def _setUp(self):
        name = f'vrt_test_{uuid.uuid4().hex}'
        if self._server is servers.SQLITE:
            folder = self.useFixture(fixtures.TempDir()).path
            name = f'{folder}/{name}'
        else:
            self._server.execute(self._server.create.format(name))
            self.addCleanup(
                self._server.execute, self._server.drop.format(name)
            )
        url = sa.make_url(self._server.url).set(database=name)
        self.url = url.render_as_string(hide_password=False)


@functools.cache
def tables(server):
    """Return the URL of a database with our tables, kept by this process.

    To make the tables takes longer than most of the tests that need them.
    """
    url = process_fixtures.set_up(Database(server)).url
    with test_fixtures.Database(url):
        return url


class DatabaseTestCase(base.BaseTestCase):
    """A test with our tables, empty, in a database that the process keeps.

    Without ``SYNC`` the test has an empty database of its own. Tests are
    written once, in a mixin that runs ``on`` some servers.
    """

    SERVER = None
    SYNC = True

    def setUp(self):
        super().setUp()
        self.SERVER.require(self)
        if self.SERVER is servers.SQLITE:
            # SQLite has no writers side by side; the try-out cloud's wait.
            self.enterContext(databases.one_writer_each())
        self.url = self._database()
        self.useFixture(test_fixtures.Database(self.url, sync=False))
        if self.SYNC:
            # A test before this one may have been killed.
            test_fixtures.delete_all_rows()

    def _database(self):
        if self.SYNC:
            return tables(self.SERVER)
        return self.useFixture(Database(self.SERVER)).url


def on(*some):
    """Make a test class of a mixin for each of some servers.

    ``class Expiry`` makes ``TestExpiryOnMariaDB`` and so on, in its module;
    ``OnMariaDB`` selects all tests of one server.
    """

    def decorate(mixin):
        for server in some:
            name = f'Test{mixin.__name__}On{server.label}'
            own = {'SERVER': server, '__module__': mixin.__module__}
            made = type(name, (mixin, DatabaseTestCase), own)
            setattr(sys.modules[mixin.__module__], name, made)
        return mixin

    return decorate

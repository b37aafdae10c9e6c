# SPDX-License-Identifier: Apache-2.0
"""SQLite databases of the try-out cloud: writers and connections."""

from concurrent import futures
import pathlib
import tempfile

from oslo_db.sqlalchemy import enginefacade
from oslotest import base
import sqlalchemy

from nova_groupext.cloud import databases

WRITERS = 8
ROUNDS = 10


@enginefacade.transaction_context_provider
class Requester:
    """A context by which oslo.db identifies a transaction."""


class TestOneWriterEach(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        databases.create(state)
        self.facade = enginefacade.transaction_context()
        self.addCleanup(self.facade.dispose_pool)
        self.facade.configure(connection=databases.urls(state)['api'])
        with self.facade.writer.using(Requester()) as session:
            session.execute(sqlalchemy.text('CREATE TABLE t (n INTEGER)'))
            session.execute(sqlalchemy.text('INSERT INTO t VALUES (0)'))

    def read(self, session):
        return session.execute(sqlalchemy.text('SELECT n FROM t')).scalar()

    def count_up(self):
        for _round in range(ROUNDS):
            with self.facade.writer.using(Requester()) as session:
                n = self.read(session) + 1
                session.execute(
                    sqlalchemy.text('UPDATE t SET n = :n'), {'n': n}
                )

    def test_parallel_writers_lose_no_update(self):
        with databases.one_writer_each():
            with futures.ThreadPoolExecutor(WRITERS) as pool:
                writers = [
                    pool.submit(self.count_up) for _each in range(WRITERS)
                ]
            for writer in writers:
                writer.result()

        with self.facade.reader.using(Requester()) as session:
            self.assertEqual(WRITERS * ROUNDS, self.read(session))

    def test_nested_writer_joins_its_transaction(self):
        requester = Requester()
        with (
            databases.one_writer_each(),
            self.facade.writer.using(requester) as outer,
            self.facade.writer.using(requester) as inner,
        ):
            self.assertIs(outer, inner)

    def test_stock_transactions_are_restored(self):
        manager = enginefacade._TransactionContextManager
        stock = manager._transaction_scope

        with databases.one_writer_each():
            self.assertIsNot(stock, manager._transaction_scope)

        self.assertIs(stock, manager._transaction_scope)


class TestKeptConnections(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        state = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        databases.create(state)
        self.url = databases.urls(state)['api']

    def opened(self):
        """Return the number of connections that two transactions open."""
        facade = enginefacade.transaction_context()
        self.addCleanup(facade.dispose_pool)
        facade.configure(connection=self.url)
        opened = []
        sqlalchemy.event.listen(
            facade.writer.get_engine(),
            'connect',
            lambda *connection: opened.append(connection),
        )
        for _transaction in range(2):
            with facade.writer.using(Requester()) as session:
                session.execute(sqlalchemy.text('SELECT 1'))
        return len(opened)

    def test_connection_is_reused(self):
        # The one that was opened to try the database is used.
        with databases.pooled_connections():
            self.assertEqual(0, self.opened())

    def test_each_transaction_has_its_own_connection_afterwards(self):
        with databases.pooled_connections():
            pass
        self.assertEqual(2, self.opened())

# SPDX-License-Identifier: Apache-2.0
"""SQLite databases of the try-out cloud, safe for concurrent threads."""

import collections
import contextlib
import functools
import sqlite3
import threading

from nova import context
from nova import objects
from nova.db import migration
from nova.db.api import api as api_db
from nova.db.main import api as main_db
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import engines
from placement import db_api as placement_db
import sqlalchemy as sa
from sqlalchemy import pool

CELL1_UUID = '11111111-1111-1111-1111-111111111111'
NAMES = ('api', 'cell0', 'cell1', 'placement')


def urls(state):
    """Return {database name: URL}."""
    return {name: f'sqlite:///{state / name}.sqlite' for name in NAMES}


def create(state):
    """Create missing files, in WAL mode: readers do not wait for a writer."""
    for name in NAMES:
        with contextlib.closing(
            sqlite3.connect(f'{state / name}.sqlite')
        ) as connection:
            connection.execute('PRAGMA journal_mode = WAL')


@contextlib.contextmanager
def fresh_facades():
    """Make the databases of Nova and Placement configurable once more."""
    with contextlib.ExitStack() as stack:
        stack.callback(placement_db.configure.reset)
        for facade in (
            api_db.context_manager,
            main_db.context_manager,
            placement_db.placement_context_manager,
        ):
            stack.enter_context(fresh_facade(facade))
        yield


@contextlib.contextmanager
def fresh_facade(facade):
    """Make an enginefacade configurable once more; close it at the end."""
    restore = facade.patch_factory(enginefacade.transaction_context())
    try:
        yield
    finally:
        facade.dispose_pool()
        restore()


@contextlib.contextmanager
def one_writer_each():
    """Serialise the write transactions of each SQLite file.

    A transaction that has read cannot write after another one has written:
    SQLite fails at once, whatever its timeout. So a writer locks the file from
    its start. This patches oslo.db, which has no public hook.
    """
    manager = enginefacade._TransactionContextManager
    original = manager._transaction_scope
    locks = collections.defaultdict(threading.RLock)
    lock = threading.Lock()

    def lock_of(facade):
        with lock:
            return locks[facade.writer.get_engine().url]

    @contextlib.contextmanager
    def scope(facade, requester):
        writes = facade._mode is enginefacade._WRITER
        file_lock = lock_of(facade) if writes else contextlib.nullcontext()
        with file_lock, original(facade, requester) as resource:
            yield resource

    manager._transaction_scope = scope
    try:
        yield
    finally:
        manager._transaction_scope = original


@contextlib.contextmanager
def pooled_connections():
    """Keep SQLite connections open in a pool.

    oslo.db opens a connection for every transaction. Each new one reads the
    whole schema, which takes longer than most queries. This patches oslo.db,
    which has no public hook.
    """
    original = engines.create_engine
    engines.create_engine = functools.partial(original, _engine_target=_pooled)
    try:
        yield
    finally:
        engines.create_engine = original


def _pooled(url, **kwargs):
    """Return a pooled engine and, for oslo.db, the target of its events."""
    if kwargs.get('poolclass') is pool.NullPool:
        kwargs |= {'poolclass': pool.QueuePool, 'max_overflow': -1}
    engine = sa.create_engine(url, **kwargs)
    return engine, engine


def sync(state):
    """Migrate the schemas of Nova's databases and map the cells.

    Nova must be configured. Placement migrates its own schema.
    """
    requester = context.get_admin_context()
    migration.db_sync(database='api')
    migration.db_sync(database='main')
    cell0 = objects.CellMapping.CELL0_UUID
    _map_cell(requester, 'cell0', cell0, 'none:///', state)
    _map_cell(requester, 'cell1', CELL1_UUID, 'fake:///', state)
    cell = objects.CellMapping.get_by_uuid(requester, cell0)
    with context.target_cell(requester, cell) as in_cell0:
        migration.db_sync(database='main', context=in_cell0)


def _map_cell(requester, name, uuid, bus, state):
    mappings = objects.CellMappingList.get_all(requester)
    if uuid not in {cell.uuid for cell in mappings}:
        objects.CellMapping(
            requester,
            uuid=uuid,
            name=name,
            transport_url=bus,
            database_connection=urls(state)[name],
        ).create()

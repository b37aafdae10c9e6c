# SPDX-License-Identifier: Apache-2.0
"""What tests of several parts need."""

import functools
import itertools
import pathlib
import signal
import tempfile

from alembic import autogenerate
from alembic.runtime import migration as runtime
import fixtures
from nova import policy
from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_groupext import policies
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models
from nova_groupext.objects import states


class Database(fixtures.Fixture):
    """A database of our own facade.

    :param url: of the database; a new SQLite file by default
    :param sync: whether to make our tables in it
    """

    def __init__(self, url=None, sync=True):
        super().__init__()
        self._url = url
        self._sync = sync

    def _setUp(self):
        url = self._url or self._make_file()
        CONF.set_override('connection', url, 'vrt_database')
        self.addCleanup(CONF.clear_override, 'connection', 'vrt_database')
        engine.reset()
        self.addCleanup(engine.reset)
        engine.configure()
        if self._sync and self._url:
            migration.sync()

    def _make_file(self):
        folder = self.useFixture(fixtures.TempDir()).path
        file = pathlib.Path(folder, 'vrt.sqlite')
        if self._sync:
            file.write_bytes(_migrated())
        return f'sqlite:///{file}'


@functools.cache
def _migrated():
    """Return the content of an SQLite file with our tables.

    The migrations take longer than most of the tests that need the tables.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'vrt.sqlite')
        with Database(f'sqlite:///{file}'):
            pass
        return file.read_bytes()


class Clock(fixtures.Fixture):
    """The database's clock stands still, until a test advances it.

    By timeutils.advance_time_seconds(), which moves our own clock as well.

    :param at: naive datetime in UTC; now by default
    """

    # What the database calls now, and how it writes another time.
    _CLOCK_EXPRESSIONS = {
        "'now'": "'{}'",
        'UTC_TIMESTAMP(6)': "TIMESTAMP('{}')",
        'statement_timestamp()': "TIMESTAMP WITH TIME ZONE '{}+00'",
    }

    def __init__(self, at=None):
        super().__init__()
        self._at = at

    def _setUp(self):
        timeutils.set_time_override(self._at)
        self.addCleanup(timeutils.clear_time_override)
        listener = (sa.Engine, 'before_cursor_execute', self._stop)
        sa.event.listen(*listener, retval=True)
        self.addCleanup(sa.event.remove, *listener)

    def _stop(self, _connection, _cursor, statement, parameters, *_others):
        for word, other in self._CLOCK_EXPRESSIONS.items():
            statement = statement.replace(
                word, other.format(timeutils.utcnow())
            )
        return statement, parameters


class DeadlockOnCommit(fixtures.Fixture):
    """A database that breaks each transaction off once, at its very end.

    As a cluster does that finds out only then that another node was faster.
    """

    def _setUp(self):
        self.useFixture(fixtures.MockPatch('time.sleep'))
        fails = itertools.cycle((True, False))

        def on_commit(_connection):
            if next(fails):
                raise db_exc.DBDeadlock

        listener = engine.get_engine()
        sa.event.listen(listener, 'commit', on_commit)
        self.addCleanup(sa.event.remove, listener, 'commit', on_commit)


def model_differences():
    """Return how the tables differ from the models, as alembic tells it."""
    with engine.get_engine().connect() as connection:
        return autogenerate.compare_metadata(
            runtime.MigrationContext.configure(
                connection,
                opts={
                    'version_table': migration.VERSION_TABLE,
                    'compare_type': True,
                },
            ),
            models.Base.metadata,
        )


def row_counts():
    """Return {table: how many rows} of our tables that are not empty.

    Tombstones and planners are left out: they are meant to stay for a while.
    """
    counts = {}
    with engine.get_engine().connect() as connection:
        for name, table in models.Base.metadata.tables.items():
            count = sa.select(sa.func.count()).select_from(table)
            if name == models.Hold.__tablename__:
                count = count.where(table.c.status != states.Hold.RELEASED)
            counts[name] = connection.scalar(count)
    counts.pop(models.Planner.__tablename__)
    return {name: count for name, count in counts.items() if count}


def delete_all_rows():
    """Delete all rows of our tables, drafts before what they revise."""
    groups = models.Group.__table__
    with engine.get_engine().begin() as connection:
        connection.execute(groups.update().values(revises_id=None))
        for table in reversed(models.Base.metadata.sorted_tables):
            connection.execute(table.delete())


class Policy(fixtures.Fixture):
    """Nova's policy enforcer with our rules, as nova-api has it."""

    def _setUp(self):
        CONF([], project='nova', default_config_files=[])
        self.addCleanup(CONF.reset)
        policy.reset()
        self.addCleanup(policy.reset)
        policies.register()


class DefaultSigint(fixtures.Fixture):
    """Heeds Ctrl-C, here and in child processes.

    Whoever runs the tests in the background may have it ignored.
    """

    def _setUp(self):
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, previous)

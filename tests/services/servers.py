# SPDX-License-Identifier: Apache-2.0
"""The servers that these tests talk to, all on the loopback.

A test whose server is missing is skipped and says why. Where everything has
to be there (``VRT_REQUIRE_SERVICES=1``) it fails instead.
"""

import dataclasses
import os

import kombu
import sqlalchemy as sa


def are_required():
    """Check whether a missing server is a failure."""
    return os.environ.get('VRT_REQUIRE_SERVICES') == '1'


@dataclasses.dataclass(frozen=True)
class Server:
    """A server, and the account that tests use there."""

    name: str
    url: str
    #: The Debian package that brings the server.
    package: str = ''

    @property
    def hint(self):
        """Advice where the server does not answer: a package to install."""
        return (
            f'no answer at {sa.make_url(self.url).host}:'
            f'{sa.make_url(self.url).port}, so its tests are skipped; '
            f'install and start the Debian package {self.package} to run them'
        )

    @property
    def label(self):
        """Name of the server as a part of a class name."""
        words = self.name.split()
        return ''.join(word[0].upper() + word[1:] for word in words)

    def require(self, test):
        """Skip the test, or fail it, unless the server answers."""
        try:
            self.ask()
        except Exception as exc:
            reason = f'{self.name} does not answer: {exc}'
            if are_required():
                test.fail(reason)
            test.skipTest(reason)

    def answers(self):
        try:
            self.ask()
        except Exception:
            return False
        return True

    def ask(self):
        """Send a request that any working server answers."""
        raise NotImplementedError


class MessageBus(Server):
    def ask(self):
        with kombu.Connection(self.url, connect_timeout=5) as connection:
            connection.connect()


@dataclasses.dataclass(frozen=True)
class DatabaseServer(Server):
    """A server on which tests create and drop databases."""

    create: str = ''
    drop: str = ''

    def ask(self):
        self.execute('SELECT 1')

    def execute(self, statement):
        """Run one statement that is a transaction of its own."""
        engine = sa.create_engine(
            self.url,
            isolation_level='AUTOCOMMIT',
            poolclass=sa.pool.NullPool,
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)


RABBITMQ = MessageBus(
    'RabbitMQ',
    'amqp://guest:guest@127.0.0.1:5672//',
    package='rabbitmq-server',
)
SQLITE = DatabaseServer('SQLite', 'sqlite://')
MARIADB = DatabaseServer(
    'MariaDB',
    'mysql+pymysql://root@127.0.0.1:3306/',
    package='mariadb-server',
    # Databases of many an old Nova have this, so ours may not rely on better.
    create='CREATE DATABASE {} CHARACTER SET utf8mb3',
    drop='DROP DATABASE {}',
)
# The default from MariaDB 11.7 on, which the admin's guide recommends.
SNAPSHOTS = dataclasses.replace(
    MARIADB,
    name='MariaDB with snapshot isolation',
    url=f'{MARIADB.url}?init_command='
    'SET SESSION innodb_snapshot_isolation = ON',
)
POSTGRESQL = DatabaseServer(
    'PostgreSQL',
    'postgresql+psycopg2://postgres@127.0.0.1:5432/postgres',
    package='postgresql',
    create='CREATE DATABASE {}',
    drop='DROP DATABASE {} WITH (FORCE)',
)

# Servers that our tables may be on.
DATABASES = (SQLITE, MARIADB, POSTGRESQL)
ALL = (*DATABASES, RABBITMQ)


def missing():
    """Return the servers that do not answer."""
    return [server for server in ALL if not server.answers()]

# SPDX-License-Identifier: Apache-2.0
"""Two nodes of a Galera cluster, both of which are written to.

Debian's packages mariadb-server and galera-4 have all that is needed. The
nodes are processes of a test process; the machine's own server has no part in
it.
"""

import contextlib
import contextvars
import functools
import os
import pathlib
import shutil
import socket
import subprocess
import time
from unittest import mock

import fixtures
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from nova_groupext.db import engine
from tests import fixtures as test_fixtures
from tests.services import process_fixtures
from tests.services import servers

PROVIDERS = (
    '/usr/lib/galera/libgalera_smm.so',
    '/usr/lib64/galera-4/libgalera_smm.so',
)
DATABASE = 'vrt'
# Longest time that the start of a node may take.
SECONDS_TO_START = 60

# Options that Galera demands, and small sizes of memory and disk.
OPTIONS = (
    '--no-defaults',
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--performance-schema=OFF',
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=16M',
    '--innodb-log-file-size=4M',
    '--wsrep-on=ON',
    f'--wsrep-cluster-name={DATABASE}',
)
# The nodes are one another's only witnesses, on a machine that may be slow.
PATIENT = 'evs.suspect_timeout=PT30S;evs.inactive_timeout=PT60S'

# The server ends with the standard input: it does not outlive who started it.
GUARD = '"$@" & cat >/dev/null; kill -9 $!; wait'


class Galera(servers.Server):
    """Galera's programs; each test process starts nodes of its own."""

    def ask(self):
        programs()


GALERA = Galera('Galera', url='', package='galera-4')


def programs():
    """Return the paths of MariaDB's server, its installer, and Galera.

    :raises: FileNotFoundError
    """
    path = f'{os.environ.get("PATH", os.defpath)}:/usr/sbin'
    paths = [
        shutil.which(name, path=path)
        for name in ('mariadbd', 'mariadb-install-db')
    ]
    paths += [each for each in PROVIDERS if pathlib.Path(each).exists()][:1]
    if len(paths) < 3 or None in paths:
        raise FileNotFoundError(
            'install the Debian packages mariadb-server and galera-4'
        )
    return paths


class Pair(fixtures.Fixture):
    """Two nodes with an empty database; ``urls`` has one for each node."""

    def _setUp(self):
        self._mariadbd, install, self._galera = programs()
        self._folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        subprocess.run(
            [
                install,
                '--no-defaults',
                *_user(),
                '--auth-root-authentication-method=normal',
                '--skip-test-db',
                '--skip-name-resolve',
                f'--datadir={self._folder / "first"}',
            ],
            check=True,
            capture_output=True,
        )
        shutil.copytree(self._folder / 'first', self._folder / 'second')
        ports = _free_ports(4)
        self.urls = [
            f'mysql+pymysql://root@127.0.0.1:{port}/' for port in ports[:2]
        ]
        self._start('first', ports[0], ports[2])
        self._wait(self.urls[0], 1)
        self._take_over_state()
        self._start('second', ports[1], ports[3], ports[2])
        for url in self.urls:
            self._wait(url, 2)
        self._create_database()
        self.urls = [f'{url}{DATABASE}' for url in self.urls]

    def _create_database(self):
        made = sa.create_engine(self.urls[0], poolclass=sa.pool.NullPool)
        with made.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE {DATABASE}')

    def _start(self, name, port, galera_port, other=''):
        """Start a node, of a new cluster if there is no other one.

        :param galera_port: at which other nodes reach it
        :param other: that of a node whose cluster it joins
        """
        address = f'127.0.0.1:{galera_port}'
        with self._log(name).open('w') as log:
            process = subprocess.Popen(
                [
                    *('sh', '-c', GUARD, 'sh', self._mariadbd, *OPTIONS),
                    *_user(),
                    f'--datadir={self._folder / name}',
                    f'--socket={self._folder / name}.sock',
                    f'--pid-file={self._folder / name}.pid',
                    f'--port={port}',
                    f'--wsrep-provider={self._galera}',
                    f'--wsrep-provider-options=base_host=127.0.0.1;'
                    f'base_port={galera_port};{PATIENT};'
                    f'gmcast.listen_addr=tcp://{address};gcache.size=8M',
                    f'--wsrep-node-address={address}',
                    '--wsrep-cluster-address=gcomm://'
                    + (other and f'127.0.0.1:{other}'),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        self.addCleanup(self._stop, process)

    @staticmethod
    def _stop(process):
        process.stdin.close()
        process.wait()

    def _log(self, name):
        return self._folder / f'{name}.log'

    def _wait(self, url, size):
        """Wait until a node serves in a cluster of ``size`` nodes."""
        ends = time.monotonic() + SECONDS_TO_START
        expected_status = {
            'wsrep_cluster_size': str(size),
            'wsrep_ready': 'ON',
        }
        while True:
            with contextlib.suppress(sa.exc.OperationalError):
                status = _status(url)
                if expected_status.items() <= status.items():
                    return
            if time.monotonic() > ends:
                raise RuntimeError(f'Galera does not start: {self._logs()}')
            time.sleep(0.1)

    def _logs(self):
        paths = [self._log(name) for name in ('first', 'second')]
        return '\n'.join(
            log.read_text()[-4000:] for log in paths if log.exists()
        )

    def _take_over_state(self):
        """Copy the state of the first node to the second one.

        Their data is equal, so that Galera need not transfer anything.
        """
        status = _status(self.urls[0])
        (self._folder / 'second' / 'grastate.dat').write_text(
            '# GALERA saved state\nversion: 2.1\n'
            f'uuid: {status["wsrep_cluster_state_uuid"]}\n'
            f'seqno: {status["wsrep_last_committed"]}\n'
            'safe_to_bootstrap: 0\n'
        )


def _user():
    """Return the option without which root may not start a server."""
    return ['--user=root'] if os.geteuid() == 0 else []


def _free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.socket()) for _each in range(number)
        ]
        for each in sockets:
            each.bind(('127.0.0.1', 0))
        return [each.getsockname()[1] for each in sockets]


def _status(url):
    """Return {name: value} of a node's status variables."""
    made = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with made.connect() as connection:
        rows = connection.exec_driver_sql("SHOW STATUS LIKE 'wsrep%%'")
        return dict(rows.all())


@functools.cache
def _pair():
    """Return a pair with our tables, kept by this process."""
    pair = process_fixtures.set_up(Pair())
    with test_fixtures.Database(pair.urls[0]):
        return pair


class _Node:
    """Connections to a node, which are slow to make."""

    def __init__(self, url, sync_wait):
        self.facade = enginefacade.transaction_context()
        self.facade.configure(
            connection=url,
            connection_parameters='charset=utf8mb4',
            mysql_wsrep_sync_wait=sync_wait,
        )
        self._operator = sa.create_engine(url, isolation_level='AUTOCOMMIT')

    def sync(self):
        """Wait until the node has what was committed on the other one."""
        with self._operator.connect() as connection:
            connection.exec_driver_sql('SET SESSION wsrep_sync_wait = 1')
            connection.exec_driver_sql('SELECT 1')


@functools.cache
def _nodes(sync_wait):
    return [_Node(url, sync_wait) for url in _pair().urls]


class Nodes(fixtures.Fixture):
    """Our own facade on both nodes, of which each thread chooses one.

    Our tables are empty. Until sync() a node may answer with what was there a
    moment ago.

    :param sync_wait: the statements that wait until it has what was committed
        on the other one, see mysql_wsrep_sync_wait; none by default
    """

    def __init__(self, sync_wait=None):
        super().__init__()
        self._sync_wait = sync_wait
        self._number = contextvars.ContextVar('number', default=0)

    def _setUp(self):
        self.urls = _pair().urls
        self._nodes = _nodes(self._sync_wait)
        chosen = mock.patch.object(engine, 'context_manager', self)
        chosen.start()
        self.addCleanup(chosen.stop)
        test_fixtures.delete_all_rows()

    @property
    def reader(self):
        return self._facade.reader

    @property
    def writer(self):
        return self._facade.writer

    @property
    def _facade(self):
        return self._nodes[self._number.get()].facade

    @contextlib.contextmanager
    def at(self, number):
        """Use node 0 or 1 in this context; node 0 is the default."""
        token = self._number.set(number)
        try:
            yield
        finally:
            self._number.reset(token)

    def sync(self):
        """Wait until each node has what was committed on the other one."""
        for node in self._nodes:
            node.sync()

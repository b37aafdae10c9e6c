# SPDX-License-Identifier: Apache-2.0
"""A MariaDB and a RabbitMQ of a real cloud's own, on free ports.

They are Debian's packages mariadb-server and rabbitmq-server, started by hand
with all their files in the state directory.
"""

import os
import pathlib
import shutil
import subprocess

import sqlalchemy as sa

from tests.real_cloud import layout as layouts
from tests.real_cloud import processes

NAMES = ('mariadb', 'rabbitmq')

# Debian's rabbitmqctl in the path changes to the user of its own service.
RABBITMQ = pathlib.Path('/usr/lib/rabbitmq/bin')

MARIADB_OPTIONS = (
    '--no-defaults',
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--performance-schema=OFF',
    '--max-connections=1000',
    '--innodb-buffer-pool-size=256M',
    # A crash of the process loses nothing; one of the machine may.
    '--innodb-flush-log-at-trx-commit=2',
)


def commands(layout: layouts.Layout) -> list[processes.Command]:
    """Return the commands that start both servers."""
    return [
        processes.Command(
            'mariadb',
            (
                _program('mariadbd'),
                *MARIADB_OPTIONS,
                *_user(),
                f'--datadir={_data(layout)}',
                f'--socket={layout.state}/mariadb.sock',
                f'--pid-file={layout.state}/mariadb.pid',
                f'--port={layout.ports["mariadb"]}',
            ),
        ),
        processes.Command(
            'rabbitmq',
            (str(RABBITMQ / 'rabbitmq-server'),),
            _rabbitmq_variables(layout),
        ),
    ]


def install_mariadb(layout: layouts.Layout) -> None:
    """Make the data of a new MariaDB, if there is none."""
    if _data(layout).exists():
        return
    processes.run(
        processes.Command(
            'mariadb-install-db',
            (
                _program('mariadb-install-db'),
                '--no-defaults',
                *_user(),
                '--auth-root-authentication-method=normal',
                '--skip-test-db',
                '--skip-name-resolve',
                f'--datadir={_data(layout)}',
            ),
        ),
        layout.state / 'log',
    )


def are_ready(layout: layouts.Layout) -> bool:
    """Check whether both servers answer."""
    engine = sa.create_engine(
        layout.database_server, poolclass=sa.pool.NullPool
    )
    try:
        engine.connect().close()
        rabbitmqctl(layout, 'await_startup', '--timeout', '60')
    except (sa.exc.OperationalError, subprocess.CalledProcessError):
        return False
    return True


def rabbitmqctl(layout: layouts.Layout, *arguments: str) -> str:
    """Return what rabbitmqctl prints, of its own broker or the machine's.

    :raises subprocess.CalledProcessError: if it fails
    """
    program, variables = 'rabbitmqctl', {}
    if layout.has_own_servers:
        program = str(RABBITMQ / program)
        variables = _rabbitmq_variables(layout)
    return subprocess.run(
        [program, '--quiet', *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    ).stdout


def _rabbitmq_variables(layout):
    folder = layout.state / 'rabbitmq'
    folder.mkdir(exist_ok=True)
    nodes = str(layout.ports['rabbitmq-nodes'])
    return {
        # Its secret is there.
        'HOME': str(folder),
        'RABBITMQ_NODENAME': f'{layout.name}@localhost',
        'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
        'RABBITMQ_NODE_PORT': str(layout.ports['rabbitmq']),
        'RABBITMQ_DIST_PORT': nodes,
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': (
            '-kernel inet_dist_use_interface {127,0,0,1}'
        ),
        'ERL_EPMD_ADDRESS': '127.0.0.1',
        'RABBITMQ_MNESIA_BASE': str(folder / 'data'),
        'RABBITMQ_LOG_BASE': str(folder / 'log'),
        'RABBITMQ_CONF_ENV_FILE': str(folder / 'no-file'),
        'RABBITMQ_CONFIG_FILE': str(folder / 'no-file'),
        'RABBITMQ_ENABLED_PLUGINS_FILE': str(folder / 'enabled_plugins'),
    }


def _data(layout):
    return layout.state / 'mariadb'


def _program(name):
    path = f'{os.environ.get("PATH", os.defpath)}:/usr/sbin'
    found = shutil.which(name, path=path)
    if found is None:
        raise processes.Failed(
            f'{name} is missing: install the Debian packages mariadb-server '
            'and rabbitmq-server, or start both on their usual ports'
        )
    return found


def _user():
    """Return the option without which root may not start MariaDB."""
    return ['--user=root'] if os.geteuid() == 0 else []

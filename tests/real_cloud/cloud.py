# SPDX-License-Identifier: Apache-2.0
"""A real small cloud: each service is a process, as operators run them.

Its databases and message buses are on the machine's MariaDB and RabbitMQ, or
on servers of its own. Everything else is in a state directory, with which it
starts again.
"""

from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import dataclasses
import functools
import itertools
import pathlib
import shutil
import subprocess
import sys
import time

from keystoneauth1 import exceptions as ks_exc
from novaclient import exceptions as nova_exc
import requests
import sqlalchemy as sa

from nova_groupext.cloud import hosts as try_out_hosts
from tests import environments
from tests.real_cloud import accounts
from tests.real_cloud import config
from tests.real_cloud import install_page
from tests.real_cloud import layout as layouts
from tests.real_cloud import orchestration
from tests.real_cloud import own_servers
from tests.real_cloud import processes

FOLDER = pathlib.Path(__file__).parent
READY_SECONDS = 400
# Threads of each WSGI server.
THREADS = '16'
CONTROLLERS = 'controller-1', 'controller-2'
# Of the keys in the state directory; keystone-manage would take its own user.
_KEY_OWNER = ('--keystone-user', 'root', '--keystone-group', 'root')


class RealCloud:
    """Processes of one cloud.

    :ivar with_groups: whether nova_groupext is installed in it
    :param with_heat: whether Heat is one of its services
    :ivar running: {name: processes.Process}
    """

    def __init__(
        self,
        layout: layouts.Layout,
        *,
        with_groups: bool = True,
        with_heat: bool = False,
    ):
        self.layout = layout
        self.with_groups = with_groups
        self._with_heat = with_heat
        self.running: dict[str, processes.Process] = {}
        self._commands: dict[str, processes.Command] = {}
        self._openstack = environments.make(
            'openstack',
            *('-c', str(environments.TOP / 'constraints.txt')),
            *('-r', str(FOLDER / 'openstack.txt')),
        )
        self._bin = pathlib.Path(sys.executable).parent
        self.hosts = {
            cell: [
                try_out_hosts.Host(f'{cell}-cmp-{n}', f'{cell}-r{n % 2}', cell)
                for n in range(layouts.HOSTS_PER_CELL)
            ]
            for cell in layouts.CELLS
        }

    @property
    def state(self) -> pathlib.Path:
        return self.layout.state

    # -- start -------------------------------------------------------------

    def start(self, tell: Callable[[str], None] = print) -> None:
        """Start all services, and wait until servers can be created.

        :param tell: called with each step
        :raises processes.Failed: if a service ends or does not get ready
        """
        tell('databases and message buses')
        self._make_servers()
        self._configure()
        with futures.ThreadPoolExecutor(4) as pool:
            tell('tables and keystone')
            tables = [
                pool.submit(self._run, command)
                for command in (
                    self._nova_tables(),
                    self._glance_manage('db_sync'),
                    *(
                        [orchestration.tables(self.layout)]
                        if self._with_heat
                        else []
                    ),
                )
            ]
            self._start_keystone()
            accounts.write_clouds(self.layout)
            accounts.make_accounts(self.layout)
            if self._with_heat:
                orchestration.make_accounts(self.layout)
            for each in tables:
                each.result()
        if self.with_groups:
            self._run(self.manage('db', 'sync'))
        tell('services')
        # Nova's services end if Placement does not answer at their start.
        self.launch(self._wsgi('placement', 'placement.wsgi.api', 'placement'))
        self.wait_until(lambda: self._answers('placement'), 'placement')
        for command in self.services():
            self.launch(command)
        tell('hosts')
        hosts = list(itertools.chain(*self.hosts.values()))
        # A scheduler that begins to listen later misses new aggregates.
        names = {
            'nova-compute': [each.name for each in hosts],
            'nova-scheduler': CONTROLLERS,
        }
        self.wait_until(lambda: accounts.is_up(self.layout, names), 'hosts')
        self.wait_until(
            lambda: self._has_seed_data(hosts), 'flavors and aggregates'
        )
        if self._with_heat:
            self.wait_until(lambda: orchestration.is_up(self.layout), 'heat')

    def launch(self, command: processes.Command) -> processes.Process:
        """Start a service, which has to have ended if it ran before."""
        process = processes.Process(command, self.state / 'log')
        self.running[command.name] = process
        # A storm starts services with other variables.
        self._commands.setdefault(command.name, command)
        return process

    def command(self, name: str) -> processes.Command:
        """Return the command that starts a running service."""
        return self._commands[name]

    def rotate_keys(self) -> None:
        """Rotate the keys of keystone's tokens."""
        self._run(self._keystone_manage('fernet_rotate', *_KEY_OWNER))

    def stop(self) -> None:
        """Stop all services: keystone, Placement and the servers last."""
        last, servers = ('keystone', 'placement'), own_servers.NAMES
        first = self.running.keys() - {*last, *servers}
        for names in (first, last, servers):
            some = [self.running[n] for n in names if n in self.running]
            with futures.ThreadPoolExecutor(len(some) or 1) as pool:
                list(pool.map(lambda process: process.stop(), some))
        self.running.clear()

    def remove(self) -> None:
        """Remove the cloud and its state directory."""
        self.remove_servers()
        shutil.rmtree(self.state)

    def remove_servers(self) -> None:
        """Drop the databases and message buses on the machine's servers."""
        if self.layout.has_own_servers:
            return
        for name in layouts.DATABASES:
            self._execute(
                f'DROP DATABASE IF EXISTS `{self.layout.database_name(name)}`'
            )
        for name in layouts.BUSES:
            with contextlib.suppress(subprocess.CalledProcessError):
                self._rabbitmqctl('delete_vhost', self.layout.bus_name(name))

    def wait_until(self, is_done: Callable[[], bool], what: str) -> None:
        """Wait for a condition while all services run.

        :raises processes.Failed: if one ends, or it takes too long
        """
        deadline = time.monotonic() + READY_SECONDS
        while not is_done():
            for each in self.running.values():
                each.check()
            if time.monotonic() > deadline:
                raise processes.Failed(
                    f'{what}: not there after {READY_SECONDS} s; see the logs '
                    f'in {self.state / "log"}'
                )
            time.sleep(0.5)

    # -- parts -------------------------------------------------------------

    def services(self) -> list[processes.Command]:
        """Return all services that keystone and Placement serve."""
        if self.with_groups:
            scheduler = 'nova-groupext-scheduler'
        else:
            scheduler = 'nova-scheduler'
        return [
            self._wsgi('glance', 'glance.wsgi.api', 'glance', self._openstack),
            self._wsgi(
                *('network', 'tests.real_cloud.serve_network', 'network')
            ),
            *(
                self._wsgi(f'nova-api-{n}', 'nova.wsgi.osapi_compute', 'nova')
                for n in (1, 2)
            ),
            self._nova('nova-conductor', 'nova.conf', CONTROLLERS[0]),
            *(
                self._nova('nova-conductor', f'nova-{cell}.conf', cell)
                for cell in layouts.CELLS
            ),
            *(
                self._nova(program, 'nova.conf', host)
                for program in (
                    scheduler,
                    *(['nova-groupext-planner'] * self.with_groups),
                )
                for host in CONTROLLERS
            ),
            *(self._computes(cell) for cell in layouts.CELLS),
            *(self._heat() if self._with_heat else ()),
        ]

    def _heat(self):
        api = self._wsgi(
            'heat-api', 'heat.wsgi.api', 'heat', orchestration.environment()
        )
        variables = {**api.variables, **orchestration.variables(self.layout)}
        return (
            dataclasses.replace(api, variables=variables),
            orchestration.engine(self.layout),
        )

    def stock_scheduler(self, host: str) -> processes.Command:
        """Return Nova's own scheduler, for a host of the control plane."""
        return self._nova('nova-scheduler', 'nova.conf', host)

    def _wsgi(self, name, module, service, environment=None):
        python = environment / 'bin/python' if environment else sys.executable
        port = str(self.layout.ports[service])
        script = str(FOLDER / 'serve_wsgi.py')
        return processes.Command(
            name,
            (str(python), script, module, port, THREADS),
            {
                'PYTHONPATH': str(environments.TOP) if not environment else '',
                'OS_KEYSTONE_CONFIG_FILES': str(self.state / 'keystone.conf'),
                'OS_GLANCE_CONFIG_DIR': str(self.state),
                'OS_PLACEMENT_CONFIG_DIR': str(self.state),
                'OS_NOVA_CONFIG_DIR': str(self.state),
                'OS_NOVA_CONFIG_FILES': 'api-paste.ini;nova.conf',
                'VRT_CLOUD_URL': self.layout.url('network'),
            },
        )

    def _nova(self, program, config_file, host):
        """Return one of Nova's services, or ours, on a host of its own."""
        host_file = self.state / f'host-{host}.conf'
        host_file.write_text(f'[DEFAULT]\nhost = {host}\n')
        return processes.Command(
            f'{program}-{host}',
            (
                str(self._bin / program),
                *('--config-file', str(self.state / config_file)),
                *('--config-file', str(host_file)),
            ),
        )

    def _computes(self, cell):
        hosts = [f'{h.name}:{h.rack}:{h.zone}' for h in self.hosts[cell]]
        return processes.Command(
            f'nova-computes-{cell}',
            (
                *(sys.executable, str(FOLDER / 'serve_computes.py')),
                *(str(self.state / f'nova-{cell}.conf'), str(self.state)),
            ),
            {
                'PYTHONPATH': str(environments.TOP),
                'VRT_CLOUD_HOSTS': ','.join(hosts),
            },
        )

    # -- setting up --------------------------------------------------------

    def _make_servers(self):
        if self.layout.has_own_servers:
            own_servers.install_mariadb(self.layout)
            for command in own_servers.commands(self.layout):
                self.launch(command)
            self.wait_until(
                lambda: own_servers.are_ready(self.layout), 'servers'
            )
        for name in layouts.DATABASES:
            self._execute(
                'CREATE DATABASE IF NOT EXISTS '
                f'`{self.layout.database_name(name)}` CHARACTER SET utf8'
            )
        ctl = self._rabbitmqctl
        known = ctl('list_vhosts', '--silent').split()
        for name in map(self.layout.bus_name, layouts.BUSES):
            if name not in known:
                ctl('add_vhost', name)
                ctl('set_permissions', '-p', name, 'guest', '.*', '.*', '.*')

    def _configure(self):
        """Write the files of stock services, and do as the page says."""
        config.write(self.layout, self._openstack)
        if self._with_heat:
            orchestration.write(self.layout)
        if self.with_groups:
            for section, change, file in (
                ('Configure Nova', config.set_options, 'nova.conf'),
                ('Change the paste file', config.edit_paste, 'api-paste.ini'),
                ('Configure Placement', config.set_options, 'placement.conf'),
            ):
                change(self.state / file, install_page.block(section))

    def _start_keystone(self):
        for name in ('fernet', 'credential'):
            (self.state / name).mkdir(mode=0o700, exist_ok=True)
        for name, *arguments in (
            ('db_sync',),
            ('fernet_setup', *_KEY_OWNER),
            ('credential_setup', *_KEY_OWNER),
            (
                *('bootstrap', '--bootstrap-password', self.layout.secret),
                *('--bootstrap-region-id', config.REGION),
                *(
                    argument
                    for interface in ('public', 'internal', 'admin')
                    for argument in (
                        f'--bootstrap-{interface}-url',
                        f'{self.layout.url("keystone")}/v3',
                    )
                ),
            ),
        ):
            self._run(self._keystone_manage(name, *arguments))
        self.launch(
            self._wsgi(
                *('keystone', 'keystone.wsgi.api', 'keystone'), self._openstack
            )
        )
        self.wait_until(lambda: self._answers('keystone', '/v3'), 'keystone')

    def _keystone_manage(self, name, *arguments):
        return processes.Command(
            f'keystone-{name}',
            (
                str(self._openstack / 'bin/keystone-manage'),
                *('--config-file', str(self.state / 'keystone.conf')),
                *(name, *arguments),
            ),
        )

    def _answers(self, service, path='/'):
        url = f'{self.layout.url(service)}{path}'
        with contextlib.suppress(requests.RequestException):
            return requests.get(url, timeout=10).ok
        return False

    def _has_seed_data(self, hosts):
        # Schedulers map new hosts to their cells from time to time.
        with contextlib.suppress(
            ks_exc.ClientException, nova_exc.ClientException
        ):
            accounts.make_seed_data(self.layout, hosts)
            return True
        return False

    def _nova_tables(self):
        cells = [
            part
            for cell in layouts.CELLS
            for part in (
                *(cell, self.layout.database(cell)),
                self.layout.bus(cell),
            )
        ]
        return processes.Command(
            'setup-nova',
            (
                *(sys.executable, str(FOLDER / 'setup_nova.py')),
                *(str(self.state / 'nova.conf'), *cells),
            ),
        )

    def _glance_manage(self, name):
        return processes.Command(
            'glance-manage',
            (
                *(str(self._openstack / 'bin/glance-manage'), '--config-file'),
                *(str(self.state / 'glance-api.conf'), name),
            ),
        )

    def manage(self, *arguments: str) -> processes.Command:
        """Return a command of nova-groupext-manage."""
        return processes.Command(
            'nova-groupext-manage',
            (
                *(str(self._bin / 'nova-groupext-manage'), '--config-file'),
                *(str(self.state / 'nova.conf'), *arguments),
            ),
        )

    def _run(self, command):
        processes.run(command, self.state / 'log')

    def _rabbitmqctl(self, *arguments):
        """Return what rabbitmqctl prints.

        :raises subprocess.CalledProcessError: if it fails
        """
        return own_servers.rabbitmqctl(self.layout, *arguments)

    def _execute(self, statement):
        engine = sa.create_engine(
            self.layout.database_server,
            isolation_level='AUTOCOMMIT',
            poolclass=sa.pool.NullPool,
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)


@contextlib.contextmanager
def running(
    state: pathlib.Path,
    *,
    with_heat: bool = False,
    own_servers: bool | None = None,
) -> Iterator[RealCloud]:
    """Run a cloud; in the end nothing is left but its state directory.

    :param own_servers: see layout.Layout.load()
    """
    layout = layouts.Layout.load(state, own_servers=own_servers)
    this = RealCloud(layout, with_heat=with_heat)
    try:
        this.start(functools.partial(print, flush=True))
        yield this
    finally:
        this.stop()
        this.remove_servers()

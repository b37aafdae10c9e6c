# SPDX-License-Identifier: Apache-2.0
"""Names, ports and folders of one real cloud, kept in its state directory."""

import dataclasses
import json
import pathlib
import secrets
import socket

#: Services with a port, in the order of the catalogue.
PORTS = ('keystone', 'placement', 'glance', 'network', 'nova', 'heat')
#: Servers of its own, where the machine has none; RabbitMQ needs two ports.
SERVERS = ('mariadb', 'rabbitmq', 'rabbitmq-nodes')
CELLS = ('cell1', 'cell2')
#: Databases, one each, and message buses: of all cells, and of each cell.
DATABASES = (
    *('keystone', 'placement', 'glance', 'heat', 'api', 'cell0'),
    *CELLS,
)
BUSES = ('top', 'heat', *CELLS)
# Racks of three hosts: a server of a pair in one can move to the third host.
HOSTS_PER_CELL = 6

PORT_RANGE = range(10_000, 32_000)
#: Ports of the machine's servers.
MARIADB, RABBITMQ = 3306, 5672


@dataclasses.dataclass(frozen=True)
class Layout:
    """Names, ports and folders of one cloud.

    :ivar name: part of the names of its databases and buses
    :ivar secret: password of all its accounts
    :ivar ports: of PORTS and, if it has servers of its own, of SERVERS
    :ivar doors: {(server, part of the cloud): port that leads to the server};
        the parts are ``top`` and the cells
    """

    state: pathlib.Path
    name: str
    secret: str
    ports: dict[str, int]
    doors: dict[tuple[str, str], int] = dataclasses.field(default_factory=dict)

    @classmethod
    def load(
        cls, state: pathlib.Path, *, own_servers: bool | None = None
    ) -> 'Layout':
        """Return the layout of a state directory, which is made if needed.

        :param own_servers: whether a new one gets a MariaDB and a RabbitMQ of
            its own; by default where the machine has none
        """
        file = state / 'layout.json'
        if not file.exists():
            (state / 'log').mkdir(parents=True, exist_ok=True)
            if own_servers is None:
                own_servers = not (_answers(MARIADB) and _answers(RABBITMQ))
            names = (*PORTS, *(SERVERS if own_servers else ()))
            content = {
                'name': f'vrt_cloud_{secrets.token_hex(4)}',
                'secret': secrets.token_hex(16),
                'ports': dict(zip(names, free_ports(len(names)), strict=True)),
            }
            file.write_text(json.dumps(content, indent=2))
            file.chmod(0o600)
        return cls(state, **json.loads(file.read_text()))

    @property
    def has_own_servers(self) -> bool:
        return SERVERS[0] in self.ports

    def url(self, service: str) -> str:
        return f'http://127.0.0.1:{self.ports[service]}'

    def database(self, name: str) -> str:
        """Return the URL of a database."""
        port = self._door('mariadb', name)
        return (
            f'{_database_server(port)}{self.database_name(name)}?charset=utf8'
        )

    @property
    def database_server(self) -> str:
        """URL of the database server itself."""
        return _database_server(self.ports.get('mariadb', MARIADB))

    def database_name(self, name: str) -> str:
        return f'{self.name}_{name}'

    def bus(self, name: str) -> str:
        """Return the transport URL of a message bus."""
        port = self._door('rabbitmq', name)
        return f'rabbit://guest:guest@127.0.0.1:{port}/{self.bus_name(name)}'

    def bus_name(self, name: str) -> str:
        return f'{self.name}_{name}'

    def _door(self, server: str, name: str) -> int:
        """Return the port at which services reach a database or a bus."""
        part = name if name in CELLS else 'top'
        default = {'mariadb': MARIADB, 'rabbitmq': RABBITMQ}[server]
        return self.doors.get((server, part), self.ports.get(server, default))


def _database_server(port: int) -> str:
    return f'mysql+pymysql://root@127.0.0.1:{port}/'


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(('127.0.0.1', port)) == 0


def free_ports(number: int) -> list[int]:
    """Return ports of the loopback on which nobody listens.

    None of them is one that the kernel gives to clients: they would take it
    before its service has started.
    """
    chosen: set[int] = set()
    while len(chosen) < number:
        port = secrets.choice(PORT_RANGE)
        if not _answers(port):
            chosen.add(port)
    return sorted(chosen)

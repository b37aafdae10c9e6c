# SPDX-License-Identifier: Apache-2.0
"""Doors between services and servers: a network that can be cut."""

import pathlib
import signal
import sys

from tests.real_cloud import layout as layouts
from tests.real_cloud import own_servers
from tests.real_cloud import processes

SCRIPT = pathlib.Path(__file__).with_name('serve_door.py')


class Doors:
    """A process for each server and part of the cloud.

    :param layout: layouts.Layout with servers of its own; its services reach
        them through the doors from now on
    """

    def __init__(self, layout: layouts.Layout):
        self._log = layout.state / 'log'
        keys = [
            (server, part)
            for server in own_servers.NAMES
            for part in ('top', *layouts.CELLS)
        ]
        ports = dict(zip(keys, layouts.free_ports(len(keys)), strict=True))
        layout.doors.update(ports)
        self._commands = {
            key: processes.Command(
                'door-{}-{}'.format(*key),
                (
                    *(sys.executable, str(SCRIPT), str(port)),
                    str(layout.ports[key[0]]),
                ),
            )
            for key, port in ports.items()
        }
        self._running = {key: self._open(key) for key in keys}

    def _open(self, key):
        return processes.Process(self._commands[key], self._log)

    def hang(self, server: str, part: str) -> None:
        """Stop a door: it passes nothing on, and closes no connection."""
        self._running[server, part].signal(signal.SIGSTOP)

    def go_on(self, server: str, part: str) -> None:
        self._running[server, part].signal(signal.SIGCONT)

    def cut(self, server: str, part: str) -> None:
        """Close all connections, and refuse new ones."""
        self._running[server, part].stop(signal.SIGKILL)

    def open(self, server: str, part: str) -> None:
        """Open a door that was cut."""
        self._running[server, part] = self._open((server, part))

    def close(self) -> None:
        for each in self._running.values():
            each.stop(signal.SIGKILL)

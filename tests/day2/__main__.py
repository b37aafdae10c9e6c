# SPDX-License-Identifier: Apache-2.0
"""Run the life of a group with each client and each kind of hints.

Prints a table: for each step its seconds, or that it has failed. The cloud is
a try-out cloud, or with ``--real`` one of many processes.
"""

import argparse
from concurrent import futures
import contextlib
import dataclasses
import os
import pathlib
import sys
import tempfile
import time

from nova_groupext.cloud import cloud
from nova_groupext.cloud import with_groups
from nova_groupext_client import sdk
from tests import shares
from tests.day2 import clients
from tests.day2 import life
from tests.real_cloud import accounts
from tests.real_cloud import cloud as real_cloud
from tests.real_cloud import processes


@dataclasses.dataclass
class Row:
    """Outcome of one life.

    :ivar cells: one for each step so far
    :ivar failure: why the last of these has failed, or ''
    """

    client: str
    door: str
    cells: list[str] = dataclasses.field(default_factory=list)
    failure: str = ''

    def __str__(self) -> str:
        return _line(self.client, self.door, *self.cells)


def main() -> int:
    """Print the table; returns the exit status."""
    options = _parser().parse_args()
    processes.end_by_sigterm()
    print(_line('client', 'hint', *life.STEPS), flush=True)  # noqa: T201
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        chosen = [
            each
            for each in clients.stock(folder)
            if not options.client or each.name in options.client
        ]
        start = _RealCloud.start if options.real else _TryOutCloud.start
        running = stack.enter_context(start(folder / 'cloud'))
        # Clients wait for servers most of their time.
        pool = stack.enter_context(
            futures.ThreadPoolExecutor(2 * os.cpu_count())
        )
        if not clients.has_go():
            print('gophercloud: skipped, see bindep.txt')  # noqa: T201
        empty = running.capacity()
        lives = [
            (client, door)
            for client in chosen
            for door in _drawn_doors(client, options.draw)
        ]
        rows = list(pool.map(lambda each: _live(running, *each), lives))
        failures = [row.failure for row in rows if row.failure]
        deadline = time.monotonic() + life.TIMEOUT_SECONDS
        while (left := running.capacity()) != empty:
            if time.monotonic() > deadline:
                failures.append(f'Capacity is missing: {left}, not {empty}')
                break
            time.sleep(1)
    print(*failures, f'{len(failures)} of {len(rows)} failed', sep='\n')  # noqa: T201
    return int(bool(failures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='day2', description=__doc__)
    parser.add_argument(
        '--client', action='append', help='only that of this name; repeatable'
    )
    parser.add_argument(
        '--real', action='store_true', help='on a real cloud of processes'
    )
    parser.add_argument(
        '--draw',
        metavar='TEXT',
        help='one kind of hints for each client; any text, the same draws '
        'the same again (default: both kinds)',
    )
    return parser


def _drawn_doors(
    client: clients.Client, draw: str | None
) -> tuple[life.Door, ...]:
    """Return the kinds of hints of a client's lives."""
    if draw is None:
        return life.DOORS
    return (life.DOORS[shares.number_of(client.name, draw) % len(life.DOORS)],)


class _TryOutCloud:
    """Access of lives to a try-out cloud."""

    def __init__(self, running: cloud.Cloud):
        self._cloud = running
        self.clouds_yaml = running.clouds_yaml
        self.connect, self.nova = running.sdk, running.nova

    @classmethod
    @contextlib.contextmanager
    def start(cls, folder: pathlib.Path):
        with cloud.Cloud(folder, parts=with_groups.HOLISTIC) as running:
            yield cls(running)

    def capacity(self) -> dict[str, dict[str, int]]:
        """Return what is free on each host."""
        return {
            host.name: self._cloud.free(host.name)
            for host in self._cloud.hosts
        }


class _RealCloud:
    """Access of lives to a real cloud."""

    def __init__(self, running: real_cloud.RealCloud):
        self._layout = running.layout
        self.clouds_yaml = running.state / 'clouds.yaml'

    @classmethod
    @contextlib.contextmanager
    def start(cls, folder: pathlib.Path):
        with real_cloud.running(folder) as running:
            yield cls(running)

    def connect(self, user: str):
        return accounts.connect(self._layout, user)

    def nova(self, user: str):
        return accounts.nova(self._layout, user)

    def capacity(self) -> dict[str, dict[str, int]]:
        """Return what is used on each host."""
        return accounts.used(self._layout)


def _live(running, client: clients.Client, door: life.Door) -> Row:
    """Run the steps of a life, until one fails."""
    row = Row(client.name, door.name)
    conn = running.connect('demo')
    sdk.register(conn)
    this = life.Life(
        client,
        door,
        client.environment(running.clouds_yaml),
        conn.vrt,
        running.nova('admin'),
    )
    try:
        for step, count in life.STEPS.values():
            started = time.monotonic()
            step(this)
            this.check(count)
            row.cells.append(f'{time.monotonic() - started:.0f} s')
    except Exception as exc:
        row.cells.append('FAILED')
        row.failure = f'{client.name} by {door.name}: {exc}'
    finally:
        this.end()
    print(row, flush=True)  # noqa: T201
    return row


def _line(client: str, door: str, *cells: str) -> str:
    widths = [max(len(name), 6) for name in life.STEPS]
    return '  '.join(
        [
            f'{client:17}  {door:10}',
            *(
                f'{cell:>{width}}'
                for cell, width in zip(cells, widths, strict=False)
            ),
        ]
    )


if __name__ == '__main__':
    sys.exit(main())

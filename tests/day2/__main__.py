# SPDX-License-Identifier: Apache-2.0
"""Run the life of a group with each client and each kind of hints.

Prints a table: for each step its seconds, or that it has failed.
"""

import argparse
from concurrent import futures
import contextlib
import dataclasses
import itertools
import os
import pathlib
import sys
import tempfile
import time

from nova_groupext.cloud import cloud
from nova_groupext.cloud import with_groups
from nova_groupext_client import sdk
from tests.day2 import clients
from tests.day2 import life


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
    print(_line('client', 'hint', *life.STEPS), flush=True)  # noqa: T201
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        chosen = [
            each
            for each in clients.stock(folder)
            if options.client in (None, each.name)
        ]
        running = stack.enter_context(
            cloud.Cloud(folder / 'cloud', parts=with_groups.HOLISTIC)
        )
        # Clients wait for servers most of their time.
        pool = stack.enter_context(
            futures.ThreadPoolExecutor(2 * os.cpu_count())
        )
        if not clients.has_go():
            print('gophercloud: skipped, see bindep.txt')  # noqa: T201
        empty = _free(running)
        lives = itertools.product(chosen, life.DOORS)
        rows = list(pool.map(lambda each: _live(running, *each), lives))
        failures = [row.failure for row in rows if row.failure]
        deadline = time.monotonic() + life.TIMEOUT_SECONDS
        while (left := _free(running)) != empty:
            if time.monotonic() > deadline:
                failures.append(f'Capacity is missing: {left}, not {empty}')
                break
            time.sleep(1)
    print(*failures, f'{len(failures)} of {len(rows)} failed', sep='\n')  # noqa: T201
    return int(bool(failures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='day2', description=__doc__)
    parser.add_argument('--client', help='only the one of this name')
    return parser


def _live(
    running: cloud.Cloud, client: clients.Client, door: life.Door
) -> Row:
    """Run the steps of a life, until one fails."""
    row = Row(client.name, door.name)
    conn = running.sdk('demo')
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


def _free(running: cloud.Cloud) -> dict[str, dict[str, int]]:
    return {host.name: running.free(host.name) for host in running.hosts}


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

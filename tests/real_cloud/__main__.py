# SPDX-License-Identifier: Apache-2.0
"""Start a real small cloud, and stop it with Ctrl-C.

Its databases and message buses are on this machine's MariaDB and RabbitMQ, or
on servers of its own if it has none. A second start with the same directory
goes on with what is there.
"""

import argparse
import pathlib
import sys
import time

from tests.real_cloud import cloud
from tests.real_cloud import layout as layouts
from tests.real_cloud import processes


def main() -> int:
    options = _parser().parse_args()
    own_servers = True if options.own_servers else None
    layout = layouts.Layout.load(
        options.state.absolute(), own_servers=own_servers
    )
    this = cloud.RealCloud(layout, with_groups=not options.stock)
    if options.remove:
        this.remove()
        return 0
    processes.end_by_sigterm()
    begin = time.monotonic()

    def tell(step):
        print(f'{time.monotonic() - begin:6.1f} s  {step}', flush=True)  # noqa: T201

    try:
        this.start(tell)
        tell('ready')
        print(  # noqa: T201
            f'export OS_CLIENT_CONFIG_FILE={this.state}/clouds.yaml '
            'OS_CLOUD=vrt-demo',
            flush=True,
        )
        while options.once is False:
            for each in this.running.values():
                each.check()
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    except processes.Failed as exc:
        print(exc, file=sys.stderr)  # noqa: T201
        return 1
    finally:
        this.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='cloud', description=__doc__)
    parser.add_argument(
        '--state',
        type=pathlib.Path,
        default=pathlib.Path('.real-cloud'),
        help='directory of its files (default: %(default)s)',
    )
    parser.add_argument(
        '--stock',
        action='store_true',
        help='without nova_groupext; the next start may be with it',
    )
    parser.add_argument(
        '--own-servers',
        action='store_true',
        help='MariaDB and RabbitMQ of its own, on free ports',
    )
    parser.add_argument(
        '--once', action='store_true', help='stop as soon as it is ready'
    )
    parser.add_argument(
        '--remove',
        action='store_true',
        help='drop its databases and buses, and delete the directory',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())

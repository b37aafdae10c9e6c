# SPDX-License-Identifier: Apache-2.0
"""Command line of nova-groupext-cloud: its arguments and output."""

import argparse
import contextlib
import functools
import pathlib
import signal
import sys
import tempfile
import threading
import time

from nova_groupext.cloud import cloud
from nova_groupext.cloud import components
from nova_groupext.cloud import errors
from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups

BANNER = """\
This is a try-out cloud: a real Nova with groups, and Placement, in one
process, with stubs of the identity, image and network services. It is not
for production.
"""

READY = """\

Its log is {cloud.log}. To use it:

    export OS_CLIENT_CONFIG_FILE={cloud.clouds_yaml}
    openstack --os-cloud vrt-demo server create --image cirros \\
        --flavor m1.small --nic none my-server
    openstack --os-cloud vrt-demo server list
    openstack --os-cloud vrt-admin hypervisor list

Other cloud entries are vrt-other, a user of another project, and
vrt-demo-manager and vrt-demo-reader, two more users of demo's project.
Ctrl-C stops it{fate}.
"""

LAST_PORT = 65535
# More of them take minutes to start in one process.
MAX_HOSTS = 100
POLL_SECONDS = 1


def main(argv=None):
    """Run the command and return its exit status."""
    options = _parser().parse_args(argv)
    try:
        _run(options)
    except errors.CannotStart as exc:
        sys.stderr.write(f'nova-groupext-cloud: {exc}\n')
        return 1
    return 0


class _Stopped(Exception):
    """A signal stops the cloud."""


def _run(options):
    stop = _stop_event()
    started = time.monotonic()

    def checkpoint():
        if stop.is_set():
            _step(started, 'Stopping')
            raise _Stopped

    _print(BANNER)
    with contextlib.suppress(_Stopped), contextlib.ExitStack() as stack:
        state, afterwards = _state(options, stack)
        running = stack.enter_context(
            cloud.Cloud(
                state,
                hosts.evenly(options.hosts),
                components.STOCK if options.stock else with_groups.HOLISTIC,
                port=options.port,
                report=lambda step: _step(started, step),
                checkpoint=checkpoint,
            )
        )
        _step(started, 'Ready')
        _print(READY.format(cloud=running, fate=afterwards))
        # Poll: a signal that another thread receives does not wake this one.
        while True:
            checkpoint()
            stop.wait(POLL_SECONDS)


def _parser():
    parser = argparse.ArgumentParser(
        prog='nova-groupext-cloud', description=BANNER
    )
    parser.add_argument(
        '--state-dir',
        type=pathlib.Path,
        metavar='DIR',
        help='directory that keeps the state over restarts (default: a '
        'temporary directory, removed at the end)',
    )
    parser.add_argument(
        '--hosts',
        type=functools.partial(_number, 1, MAX_HOSTS),
        default=12,
        metavar='N',
        help=f'number of hosts, in 4 racks and 2 zones, at most {MAX_HOSTS} '
        '(default: 12)',
    )
    parser.add_argument(
        '--stock',
        action='store_true',
        help='run Nova as it is shipped, without groups',
    )
    parser.add_argument(
        '--port',
        type=functools.partial(_number, 0, LAST_PORT),
        default=0,
        metavar='N',
        help='TCP port on the loopback (default: any free one)',
    )
    return parser


def _number(least, most, text):
    # int() refuses very many digits.
    if text.isdecimal() and len(text) < 9 and least <= int(text) <= most:
        return int(text)
    raise argparse.ArgumentTypeError(
        f'must be a whole number from {least} to {most}'
    )


def _stop_event():
    """Return an event that SIGINT and SIGTERM set, even during the start."""
    event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: event.set())
    return event


def _state(options, stack):
    if options.state_dir is None:
        temporary = tempfile.TemporaryDirectory(prefix='nova-groupext-cloud-')
        return stack.enter_context(temporary), ' and removes its state'
    return options.state_dir, '; the state is kept'


def _step(started, text):
    _print(f'{time.monotonic() - started:5.1f} s  {text}\n')


def _print(text):
    sys.stdout.write(text)
    sys.stdout.flush()

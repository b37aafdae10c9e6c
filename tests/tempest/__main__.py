# SPDX-License-Identifier: Apache-2.0
"""Run the Tempest plugin against a cloud of its own.

That is a try-out cloud, or with ``--real`` one of many processes, in whose
keystone Tempest makes its accounts itself.
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile

from tests.real_cloud import cloud as real_cloud
from tests.real_cloud import processes
from tests.tempest import real_settings
from tests.tempest import settings

HOSTS = 12
STOP_SECONDS = 60
PLUGIN = 'nova_groupext_tempest_plugin'
# Tempest writes the tags of a test behind its name.
SMOKE = r'\[.*\bsmoke\b'
BIN = pathlib.Path(sys.executable).parent


def main(argv=None):
    """Run the command; returns the exit status of ``tempest run``."""
    options = _parser().parse_args(argv)
    processes.end_by_sigterm()
    with contextlib.ExitStack() as stack:
        directory = options.keep or pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory())
        )
        workspace = directory / 'tempest'
        workspace.mkdir(parents=True)
        state = directory.absolute() / 'cloud'
        if options.real:
            cloud = stack.enter_context(real_cloud.running(state))
            config = real_settings.write(workspace, cloud.layout)
        else:
            clouds_yaml = stack.enter_context(_cloud(state))
            config = settings.write(workspace, clouds_yaml, HOSTS)
        selection = SMOKE if options.smoke else options.regex
        return _run_tempest(workspace, config, f'{PLUGIN}.*({selection})')


def _parser():
    parser = argparse.ArgumentParser(
        prog='python -m tests.tempest', description=__doc__
    )
    parser.add_argument(
        'regex', nargs='?', default='', help='tests to run (default: all)'
    )
    parser.add_argument(
        '--smoke', action='store_true', help='run the quick part only'
    )
    parser.add_argument(
        '--real',
        action='store_true',
        help='against processes, on MariaDB and RabbitMQ, in two cells',
    )
    parser.add_argument(
        '--keep',
        type=pathlib.Path,
        metavar='DIR',
        help='keep the files and logs of the cloud and of Tempest in DIR',
    )
    return parser


@contextlib.contextmanager
def _cloud(state):
    """Run a try-out cloud; yields the path of its ``clouds.yaml``."""
    cloud = subprocess.Popen(
        [
            BIN / 'nova-groupext-cloud',
            *('--state-dir', state, '--hosts', str(HOSTS)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _wait_until_ready(cloud)
        yield state / 'clouds.yaml'
    finally:
        cloud.terminate()
        try:
            cloud.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            cloud.kill()


def _wait_until_ready(cloud):
    """Read what the cloud prints, up to the line that tells how to stop it."""
    if not any(line.startswith('Ctrl-C') for line in cloud.stdout):
        raise SystemExit('The try-out cloud did not start.')


def _run_tempest(workspace, config, regex):
    """Run tests one by one: there is only one account of each kind."""
    command = (BIN / 'tempest', 'run', '--config-file', config, '--serial')
    tempest = subprocess.run([*command, '--regex', regex], cwd=workspace)
    return tempest.returncode


if __name__ == '__main__':
    sys.exit(main())

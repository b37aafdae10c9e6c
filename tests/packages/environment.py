# SPDX-License-Identifier: Apache-2.0
"""Virtual environments with only the packages that a test installs."""

import json
import os
import pathlib
import subprocess
import sys

import fixtures
from packaging import utils

from tests.packages import archives
from tests.packages import distributions

CONSTRAINTS = distributions.ROOT / 'constraints.txt'

# Variables that would let the tests' own environment in.
HIDDEN = ('OS_', 'PYTHON', 'VIRTUAL_ENV')

# Each in a process of its own: services settle in theirs how threads are made.
LOAD = """
import os
import sys
from importlib import metadata

for each in metadata.distribution(sys.argv[1]).entry_points:
    if each.group in sys.argv[2:]:
        continue
    if child := os.fork():
        _pid, status = os.waitpid(child, 0)
        if status:
            sys.exit(f'{each} cannot be loaded.')
    else:
        each.load()
        print(each.group, each.name)
        sys.exit()
"""


class Environment(fixtures.Fixture):
    """A virtual environment, removed at the end.

    Its commands do not see the work tree, nor the packages of the tests.
    """

    def _setUp(self):
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.venv = self.folder / 'venv'
        archives.run(sys.executable, '-m', 'venv', str(self.venv), cwd='/')

    def path(self, command):
        """Return the path of an installed command."""
        return str(self.venv / 'bin' / command)

    def start(self, command, *args, **variables):
        """Return the subprocess.Popen of a command; its output is text."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(HIDDEN)
        }
        return subprocess.Popen(
            [self.path(command), *args],
            cwd=self.folder,
            env=inherited | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def attempt(self, command, *args, **variables):
        """Return the exit status, output and errors of a command."""
        running = self.start(command, *args, **variables)
        out, err = running.communicate()
        return running.returncode, out, err

    def run(self, command, *args, **variables):
        """Return the standard output of a command.

        :raises AssertionError: with all of its output, if the command fails
        """
        status, out, err = self.attempt(command, *args, **variables)
        if status:
            raise AssertionError(f'{command} {args}\n{out}\n{err}')
        return out

    def install(self, *requirements, constraints=None):
        """Install requirements: names, or paths with extras behind them."""
        limits = [f'--constraint={constraints}'] if constraints else []
        # Of what is installed the tests import little.
        fast = '--no-compile'
        self.run('pip', 'install', fast, *limits, *map(str, requirements))

    def uninstall(self, names):
        """Uninstall distributions by their names."""
        self.run('pip', 'uninstall', '--yes', *names)

    def versions(self):
        """Return {normalised name: version} of what is installed."""
        listed = json.loads(self.run('pip', 'list', '--format=json'))
        return {
            utils.canonicalize_name(each['name']): each['version']
            for each in listed
        }

    def files(self):
        """Return the paths of all files but compiled ones."""
        return {
            path
            for path in self.venv.rglob('*')
            if path.is_file() and path.suffix != '.pyc'
        }

    def load_entry_points(self, distribution, but=()):
        """Return the set of the entry points (group, name) that were loaded.

        :param but: groups of entry points that are not loaded
        """
        but = *but, *distribution.elsewhere
        output = self.run('python', '-c', LOAD, distribution.name, *but)
        return {tuple(line.split()) for line in output.splitlines()}

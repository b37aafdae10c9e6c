# SPDX-License-Identifier: Apache-2.0
"""Clients that create and delete servers, run as their pages show it."""

from collections.abc import Callable
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

from tests import environments
from tests.services import servers

TOP = pathlib.Path(__file__).parents[2]
EXAMPLES = TOP / 'doc/source/examples/clients'
# Debian's packages install their Go sources here.
GOPATH = '/usr/share/gocode'
TIMEOUT_SECONDS = 300
CLOUD = 'vrt-demo'

#: What a server is to become: the hints of its create
Hints = dict[str, str]


class Failed(Exception):
    """A client has ended with an error; the text is what it printed."""


@dataclasses.dataclass(frozen=True)
class Client:
    """A client that is a process of its own for each create and delete.

    :ivar create: function that returns the command for a name, an image's
        name and hints
    :ivar delete: function that returns the command for a name
    :ivar reads_clouds_yaml: False if it only knows ``OS_*`` variables
    """

    name: str
    create: Callable[[str, str, Hints], list[str]]
    delete: Callable[[str], list[str]]
    reads_clouds_yaml: bool = True

    def environment(self, clouds_yaml: pathlib.Path) -> dict[str, str]:
        """Return the variables that tell the client where its cloud is."""
        if self.reads_clouds_yaml:
            return {
                'OS_CLIENT_CONFIG_FILE': str(clouds_yaml),
                'OS_CLOUD': CLOUD,
            }
        clouds = yaml.safe_load(clouds_yaml.read_text())['clouds']
        auth = clouds[CLOUD]['auth']
        return {
            'OS_AUTH_URL': auth['auth_url'],
            'OS_USERNAME': auth['username'],
            'OS_PASSWORD': auth['password'],
            'OS_PROJECT_NAME': auth['project_name'],
            'OS_DOMAIN_ID': auth['user_domain_id'],
        }


def stock(build: pathlib.Path) -> list[Client]:
    """Return all clients, the one in Go where it can be built.

    :param build: folder for the program in Go
    """
    found = [
        _program('openstack', 'sh', str(EXAMPLES / 'openstack.sh')),
        _python('openstacksdk'),
        _python('python-novaclient'),
        _ansible(),
    ]
    if servers.are_required() or has_go():
        found.append(_go(build))
    return found


def has_go() -> bool:
    """Check whether there are Go and gophercloud, Debian's packages."""
    return bool(shutil.which('go')) and pathlib.Path(GOPATH).is_dir()


def run(command: list[str], variables: dict[str, str]) -> None:
    """Run a command to its end.

    :param variables: of the environment: where the cloud is, and who asks
    :raises Failed: if it ends with an error
    """
    # The openstack command and its libraries are this Python's.
    path = f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}'
    ended = subprocess.run(
        command,
        env={**os.environ, **variables, 'PATH': path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    if ended.returncode:
        raise Failed(f'{" ".join(command)}\n{ended.stdout}')


def _program(name: str, *command: str) -> Client:
    """Return a client whose example is a program with three subcommands."""

    def create(server: str, image: str, hints: Hints) -> list[str]:
        subcommand = 'group' if 'group' in hints else 'member'
        return [*command, subcommand, server, image, *hints.values()]

    return Client(name, create, lambda server: [*command, 'delete', server])


def _python(name: str) -> Client:
    return _program(name, sys.executable, str(EXAMPLES / f'{name}.py'))


def _ansible() -> Client:
    """Return the client whose examples are playbooks with variables.

    Its environment is made if it is missing: the collection for OpenStack
    fails with the SDK of this one.
    """
    folder = environments.make(
        'ansible', '-r', str(TOP / 'tests/day2/ansible.txt')
    )
    command = folder / 'bin/ansible-playbook'

    def playbook(name: str, **variables) -> list[str]:
        return [
            str(command),
            str(EXAMPLES / name),
            '-e',
            json.dumps(variables),
        ]

    return Client(
        'ansible',
        lambda server, image, hints: playbook(
            'create.yml', server=server, image=image, hints=hints
        ),
        lambda server: playbook('delete.yml', server=server),
    )


def _go(build: pathlib.Path) -> Client:
    program = build / 'gophercloud'
    source = EXAMPLES / 'gophercloud.go'
    subprocess.run(
        ['go', 'build', '-o', str(program), str(source)],
        env={
            **os.environ,
            'GO111MODULE': 'off',
            'GOPATH': GOPATH,
            'GOCACHE': str(build / 'cache'),
        },
        check=True,
    )
    return dataclasses.replace(
        _program('gophercloud', str(program)), reads_clouds_yaml=False
    )

# SPDX-License-Identifier: Apache-2.0
"""Real Placement processes on one database, and their clients."""

import pathlib
import subprocess
import sys

import fixtures
from keystoneauth1 import adapter
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from oslo_utils import uuidutils

ROOT = pathlib.Path(__file__).parents[2]
MICROVERSION = '1.39'
# Longest time that the end of a process may take.
SECONDS_TO_END = 30

CONFIG = """\
[api]
auth_strategy = noauth2

[placement]
{settings}

[placement_database]
connection = {database}
sync_on_startup = true
"""


class Placement(fixtures.Fixture):
    """Placement processes, each on a port of its own.

    ``urls`` has the URL of each, ``log`` is the path of their common log. A
    client with the token ``admin`` is the admin.

    :param database: URL of an empty database, or of one that has been used
    :param settings: lines for the section ``[placement]``
    """

    def __init__(self, database, settings='', processes=2):
        super().__init__()
        self._config = CONFIG.format(database=database, settings=settings)
        self._processes = processes

    def _setUp(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._file = folder / 'placement.conf'
        self._file.write_text(self._config)
        self.log = folder / 'placement.log'
        # The first one makes the tables, the others find them.
        self.urls = [self._url(self._start())]
        others = [self._start() for _other in range(1, self._processes)]
        self.urls.extend(self._url(each) for each in others)

    def _start(self):
        with self.log.open('a') as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    '-m',
                    'tests.services.placement_process',
                    self._file,
                ],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.addCleanup(self._stop, process)
        return process

    def _url(self, process):
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(
                f'Placement does not start: {self.log.read_text()}'
            )
        return url

    @staticmethod
    def _stop(process):
        process.stdin.close()
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def clients(self, many):
        """Return ``many`` clients, evenly over the processes."""
        return [
            client(self.urls[number % len(self.urls)])
            for number in range(many)
        ]


def client(url):
    """Return the admin's client of one process; it raises no HTTP errors."""
    return adapter.Adapter(
        session.Session(auth=token_endpoint.Token(url, 'admin')),
        service_type='placement',
        default_microversion=MICROVERSION,
        raise_exc=False,
    )


def make_provider(admin, **totals):
    """Make a provider with some {resource class: total}."""
    provider = uuidutils.generate_uuid()
    made = admin.post(
        '/resource_providers', json={'name': provider, 'uuid': provider}
    ).json()
    admin.put(
        f'/resource_providers/{provider}/inventories',
        json={
            'resource_provider_generation': made['generation'],
            'inventories': {
                name: {'total': total} for name, total in totals.items()
            },
        },
    )
    return provider


def claim(user, provider, consumer, **resources):
    """Claim resources of a provider once, as for an ordinary server."""
    return user.put(
        f'/allocations/{consumer}',
        json={
            'allocations': {provider: {'resources': resources}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        },
    )

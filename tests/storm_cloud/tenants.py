# SPDX-License-Identifier: Apache-2.0
"""Tenants of a storm, and the admin who migrates their servers.

Each is a thread with random choices of its own. An operation that the cloud
does not answer counts as unavailable, and what it may have left is found at
rest.
"""

import collections
import contextlib
import functools
import random
import threading
import time

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from novaclient import exceptions as nova_exc

from tests.real_cloud import accounts

GROUPS = '/os-vrt-groups'
MAX_GROUPS, MAX_ORDINARY, MAX_COUNT = 4, 4, 4
FLAVOR = 'm1.tiny'
# A server's attribute
TASK = 'OS-EXT-STS:task_state'

POLICIES = (
    {'type': 'anti-affinity', 'scope': 'host', 'strict': True},
    {'type': 'affinity', 'scope': 'rack', 'strict': True},
    {'type': 'spread', 'scope': 'rack', 'min_domains': 2, 'strict': True},
    {'type': 'affinity', 'scope': 'zone', 'strict': False},
)

# A tenant waits so long for a decision or for a server, and between reads.
PATIENCE_SECONDS, PAUSE_SECONDS = 90, 0.7
# Errors of a cloud whose parts come and go.
AWAY = (ks_exc.ClientException, nova_exc.ClientException, OSError)
# Without these a storm proves nothing.
EXPECTED = (
    *(('deploy', 'HELD'), ('boot', 'ACTIVE')),
    *(('boot_ordinary', 'ACTIVE'), ('delete_group', 'done')),
)
# Outcomes of what is no operation.
NOTHING = 'nothing to do', 'unavailable'
DECIDED = ('HELD', 'ACTIVE', 'REFUSED', 'UNDECIDED', 'ERROR', 'RELEASED')


class Unavailable(Exception):
    """The cloud did not answer, or answered with 5xx."""


class Refused(Exception):
    """The cloud has refused an operation; the text says why."""


class Storm:
    """Counts of the operations of all tenants.

    :ivar begun: number of operations that have begun; those that the cloud
        did not answer do not count
    :ivar outcomes: Counter of (operation, outcome)
    :ivar crashes: which tenants a bug of the storm has ended
    """

    def __init__(self, operations):
        self._operations = operations
        self._lock = threading.Lock()
        self.begun = 0
        self.outcomes = collections.Counter()
        self.crashes = []

    def begin(self):
        """Count an operation that begins; returns whether it may."""
        with self._lock:
            if self.begun >= self._operations:
                return False
            self.begun += 1
            return True

    def end(self):
        """End the storm: no tenant begins another operation."""
        with self._lock:
            self._operations = 0

    def missing(self):
        """Yield the expected outcomes that no operation had."""
        for operation, outcome in EXPECTED:
            if not self.outcomes[operation, outcome]:
                yield f'no {operation} was {outcome}'

    def count(self, operation, outcome):
        with self._lock:
            self.outcomes[operation, outcome] += 1
            self.begun -= outcome in NOTHING


class User:
    """Clients of one user, who names all that is created the same.

    :ivar nova: novaclient
    """

    def __init__(self, layout, user, name='storm'):
        self.nova = accounts.nova(layout, user)
        self._adapter = adapter.Adapter(
            self.nova.client.session, service_type='compute'
        )
        self._name = name

    @functools.cached_property
    def image(self):
        return self.nova.glance.find_image(accounts.IMAGE).id

    @functools.cached_property
    def flavor(self):
        return self.nova.flavors.find(name=FLAVOR)

    def request(self, method, path, json=None):
        """Return the body of an answer.

        :raises: Refused, Unavailable
        """
        try:
            response = self._adapter.request(
                path, method, json=json, raise_exc=False
            )
        except ks_exc.ClientException as exc:
            raise Unavailable(str(exc)) from exc
        if response.status_code >= 500:
            raise Unavailable(response.text)
        if response.status_code >= 400:
            raise Refused(response.text)
        return response.json() if response.content else None

    def create_group(self, count, *policies):
        """Create a group of alike members; return its id."""
        worker = {'flavor': FLAVOR, 'image': self.image, 'count': count}
        topology = {'members': {'w': worker}, 'policies': policies}
        group = {'name': self._name, 'topology': topology}
        body = self.request('POST', GROUPS, {'vrt_group': group})
        return body['vrt_group']['id']

    def group(self, uuid):
        return self.request('GET', f'{GROUPS}/{uuid}')['vrt_group']

    def wait_for_decision(self, uuid):
        """Return a group once it is decided, or None after a while."""
        return wait(
            lambda: self.group(uuid), lambda found: found['status'] in DECIDED
        )

    def boot(self, hints):
        """Create a server; return its id, and the server once it is built.

        :param hints: of a member, or None for an ordinary server
        """
        servers = self.nova.servers
        server = servers.create(
            *(self._name, self.image, self.flavor),
            nics='none',
            scheduler_hints=hints,
            meta={} if hints else {'ordinary': 'yes'},
        )
        return server.id, wait(
            lambda: servers.get(server.id),
            lambda found: found.status != 'BUILD',
        )


def wait(read, is_done):
    """Read until the answer is good; return it, or None after a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(Unavailable, *AWAY):
            found = read()
            if is_done(found):
                return found
        time.sleep(PAUSE_SECONDS)
    return None


class Tenant(threading.Thread):
    """Random operations of one tenant until the storm ends."""

    WEIGHTS = {
        'deploy': 4,
        'boot': 12,
        'revise': 5,
        'delete_server': 5,
        'release': 1,
        'delete_group': 3,
        'boot_ordinary': 6,
        'delete_ordinary': 5,
        'show': 6,
        'list': 3,
    }

    def __init__(self, storm, user, seed):
        super().__init__(name=f'tenant {seed}', daemon=True)
        self._storm = storm
        self._user = user
        self.random = random.Random(seed)
        self._groups, self._ordinary = [], []

    def run(self):
        try:
            self._operate()
        except Exception as exc:
            self._storm.crashes.append(f'{self.name} has ended: {exc!r}')
            raise

    def _operate(self):
        while self._storm.begin():
            possible = self._possible()
            [name] = self.random.choices(
                possible, [self.WEIGHTS[each] for each in possible]
            )
            outcome = self._outcome(name)
            self._storm.count(name, outcome)
            if outcome in NOTHING:
                time.sleep(PAUSE_SECONDS)

    def _possible(self):
        """Return the operations for which there is something, and room."""
        impossible = set()
        if not self._groups:
            impossible |= {'boot', 'revise', 'delete_server', 'release'}
            impossible |= {'delete_group', 'show'}
        if not self._ordinary:
            impossible.add('delete_ordinary')
        if len(self._groups) >= MAX_GROUPS:
            impossible.add('deploy')
        if len(self._ordinary) >= MAX_ORDINARY:
            impossible.add('boot_ordinary')
        return [each for each in self.WEIGHTS if each not in impossible]

    def _outcome(self, name):
        try:
            return getattr(self, name)() or 'nothing to do'
        except Refused:
            return 'refused'
        except nova_exc.ClientException as exc:
            return 'unavailable' if exc.code >= 500 else 'refused'
        except (Unavailable, ks_exc.ClientException, OSError):
            return 'unavailable'

    # -- groups ------------------------------------------------------------

    def deploy(self):
        """Create a group; returns what was decided."""
        count = self.random.randint(1, MAX_COUNT)
        uuid = self._user.create_group(count, self.random.choice(POLICIES))
        self._groups.append(uuid)
        group = self._user.wait_for_decision(uuid)
        return group['status'] if group else 'not decided in time'

    def _random_group(self):
        return self.random.choice(self._groups)

    def revise(self):
        """Change the number of members."""
        uuid = self._random_group()
        group = self._user.group(uuid)
        topology = group['topology']
        worker = topology['members']['w']
        worker['count'] = self.random.randint(1, MAX_COUNT + 1)
        self._user.request(
            *('PUT', f'{GROUPS}/{uuid}'),
            {
                'vrt_group': {
                    'topology': topology,
                    'generation': group['generation'],
                }
            },
        )
        revised = wait(
            lambda: self._user.group(uuid),
            lambda found: (
                not found['revision']
                or found['revision']['status'] != 'PLANNING'
            ),
        )
        if revised is None:
            return 'not decided in time'
        revision = revised['revision']
        return revision['status'] if revision else 'done'

    def release(self):
        uuid = self._random_group()
        self._user.request(
            'POST', f'{GROUPS}/{uuid}/action', {'release': None}
        )
        return 'done'

    def delete_group(self):
        uuid = self._random_group()
        self._user.request('DELETE', f'{GROUPS}/{uuid}')
        self._groups.remove(uuid)
        return 'done'

    def show(self):
        return self._user.group(self._random_group())['status']

    def list(self):
        self._user.request('GET', f'{GROUPS}/detail')
        return 'done'

    # -- servers -----------------------------------------------------------

    def boot(self):
        """Create the server of a member."""
        uuid = self._random_group()
        held = [
            each['path']
            for each in self._user.group(uuid)['members']
            if each['status'] == 'HELD'
        ]
        if not held:
            return None
        hints = {'vrt_group': uuid, 'vrt_member': self.random.choice(held)}
        return self._boot(hints)[0]

    def boot_ordinary(self):
        outcome, server = self._boot(None)
        if outcome == 'ACTIVE':
            self._ordinary.append(server)
        return outcome

    def _boot(self, hints):
        """Create a server; return its status and its id.

        One that is in ERROR stays until the end, where its fault is read.
        """
        uuid, built = self._user.boot(hints)
        return built.status if built else 'not built in time', uuid

    def delete_server(self):
        """Delete the server of a member."""
        uuid = self._random_group()
        servers = [
            each['server_id']
            for each in self._user.group(uuid)['members']
            if each['server_id']
        ]
        if not servers:
            return None
        self._user.nova.servers.delete(self.random.choice(servers))
        return 'done'

    def delete_ordinary(self):
        self._user.nova.servers.delete(self._ordinary.pop())
        return 'done'


class Admin(Tenant):
    """Migrates random servers of all tenants."""

    WEIGHTS = {'migrate': 1}

    def migrate(self):
        """Migrate a server, and confirm it."""
        servers = self._user.nova.servers
        active = servers.list(
            search_opts={'all_tenants': True, 'status': 'ACTIVE'}
        )
        if not active:
            time.sleep(PAUSE_SECONDS)
            return None
        server = self.random.choice(active)
        servers.migrate(server)
        moved = wait(
            lambda: servers.get(server.id),
            # A server of a cell that is away has no task state.
            lambda found: (
                found.status in ('VERIFY_RESIZE', 'ERROR')
                or getattr(found, TASK, 'unknown') is None
            ),
        )
        if moved is None or moved.status != 'VERIFY_RESIZE':
            return moved.status if moved else 'not moved in time'
        servers.confirm_resize(server.id)
        return 'done'

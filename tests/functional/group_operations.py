# SPDX-License-Identifier: Apache-2.0
"""Operations on a group, its members, its servers and the hosts.

Each operation sends the request of a tenant or an admin and waits for its
end. The outcome is not checked here: the promises hold after any outcome.
"""

import copy

import fixtures
from nova import exception as nova_exc
from nova.scheduler.client import report
from novaclient import exceptions as client_exc

from nova_groupext.cloud import image
from tests.functional import base
from tests.functional import invariants
from tests.functional import moves

NAMES = ('a', 'b', 'c', 'd', 'e')
FLAVORS = ('m1.tiny', 'm1.small', 'm1.medium')
POLICIES = (
    moves.policy('anti-affinity', 'host'),
    moves.policy('affinity', 'rack'),
    moves.policy('spread', 'rack', min_domains=2),
)
# Operations that create servers, limited by the quota.
SERVER_CREATING = (
    'adopt',
    'create_server',
    'create_any',
    'create_successor',
    'create_foreign_server',
    'fail_spawn',
)
# Status codes with which the API may answer a change.
EXPECTED_STATUS_CODES = (202, 400, 403, 404, 409)

OPERATIONS = {}


def operation(*statuses, weight=1):
    """Register an operation on members that are in one of the states."""

    def decorate(function):
        OPERATIONS[function.__name__] = (function, statuses, weight)
        return function

    return decorate


class GroupOperations(invariants.Invariants, moves.MovingTestCase):
    """Operations on the group ``self.uuid``, drawn with ``self.rng``."""

    def member_paths(self, *statuses):
        return [
            member['path']
            for member in self.current['members']
            if member['status'] in statuses
        ]

    def possible_operations(self):
        """Return the names of the operations that are possible now."""
        is_full = len(self.current_servers) >= self.MAX_SERVERS
        return [
            name
            for name, (_function, statuses, weight) in OPERATIONS.items()
            if not (is_full and name in SERVER_CREATING)
            if not statuses or self.member_paths(*statuses)
            for _each in range(weight)
        ]

    def run_operation(self, name):
        """Run an operation, with a random member if it needs a member.

        :returns: text that describes the operation and its outcome
        """
        function, statuses, _weight = OPERATIONS[name]
        if not statuses:
            return f'{name} {function(self) or ""}'
        path = self.rng.choice(self.member_paths(*statuses))
        return f'{name} {path} {function(self, path) or ""}'

    # -- requests -----------------------------------------------------------

    def wait_decided(self, response):
        """Wait until a request is decided, unless the API refused it."""
        self.assertIn(
            response.status_code, EXPECTED_STATUS_CODES, response.text
        )
        self.eventually(
            self.group,
            lambda now: (
                now['status'] != 'PLANNING'
                and (now['revision'] or {}).get('status') != 'PLANNING'
            ),
            self.uuid,
        )
        return response.status_code

    def put_topology(self, topology):
        body = {'generation': self.current['generation'], 'topology': topology}
        return self.wait_decided(
            self.api().put(
                f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body}
            )
        )

    def act_and_wait(self, action, body=None):
        return self.wait_decided(self.act(self.uuid, action, body))

    @property
    def topology_copy(self):
        return copy.deepcopy(self.current['topology'])

    def server_of(self, path):
        return self.current_servers[self.server_id_of(path)]

    def server_id_of(self, path):
        [member] = [m for m in self.current['members'] if m['path'] == path]
        return member['server_id']

    def flavor_of(self, path):
        return self.entry_of(path)['flavor']

    def entry_of(self, path):
        members = self.current['topology']['members']
        return members.get(path) or members.get(path.rpartition('-')[0])

    def new_member(self):
        """Describe a single member, or some that may become more."""
        member = base.member(
            self.rng.choice(FLAVORS), max_surge=self.rng.randrange(2)
        )
        if self.rng.random() < 0.3:
            count = self.rng.randrange(3)
            more = self.rng.randrange(1, 3)
            member.update(count=count, max_count=count + more)
        return member

    # -- the definition ----------------------------------------------------

    @operation(weight=2)
    def revise(self):
        topology = self.topology_copy
        for name in self.rng.sample(NAMES, 2):
            if name not in topology['members']:
                topology['members'][name] = self.new_member()
            elif len(topology['members']) > 1 and self.rng.random() < 0.5:
                del topology['members'][name]
            else:
                topology['members'][name] = self.new_member()
        return self.put_topology(topology)

    @operation()
    def change_policies(self):
        policies = [self.rng.choice(POLICIES)]
        return self.put_topology({**self.topology_copy, 'policies': policies})

    @operation()
    def add(self):
        path = self.rng.choice(NAMES)
        member = {'path': path, **self.new_member()}
        response = self.api().post(
            f'{base.GROUPS}/{self.uuid}/members', json={'member': member}
        )
        return f'{path}: {self.wait_decided(response)}'

    @operation('HELD', 'ACTIVE', 'FAILED', 'RELEASED', 'TENTATIVE')
    def drop(self, path):
        return self.wait_decided(
            self.api().delete(f'{base.GROUPS}/{self.uuid}/members/{path}')
        )

    @operation('ACTIVE', 'SHELVED')
    def keep_server(self, path):
        return self.wait_decided(
            self.api().delete(
                f'{base.GROUPS}/{self.uuid}/members/{path}',
                params={'keep_server': 'true'},
            )
        )

    @operation('HELD', 'TENTATIVE', 'FAILED', 'RELEASED')
    def adopt(self, path):
        foreign_server = self.boot(self.flavor_of(path))
        return self.act_and_wait(
            'adopt', {'servers': {path: foreign_server.id}}
        )

    @operation(weight=2)
    def replan(self):
        return self.act_and_wait('replan')

    @operation('HELD')
    def replan_one(self, path):
        return self.act_and_wait('replan', {'members': [path]})

    @operation('HELD')
    def release(self, path):
        return self.act_and_wait('release', {'members': [path]})

    @operation()
    def extend(self):
        return self.act_and_wait('extend', {'expires_in': 5000})

    # -- servers -----------------------------------------------------------

    @operation('HELD', weight=4)
    def create_server(self, path):
        hints = base.member_hints(self.uuid, path)
        return self.boot(self.flavor_of(path), scheduler_hints=hints).status

    @operation(weight=3)
    def create_any(self):
        """Create a server by the name of an entry, whatever is left of it."""
        name = self.rng.choice(sorted(self.current['topology']['members']))
        return f'{name}: {self.try_create(name)}'

    @operation('ACTIVE', weight=2)
    def create_successor(self, path):
        return self.try_create(path)

    def try_create(self, path):
        entry = self.entry_of(path)
        if entry is None:
            return 'left out'
        try:
            server = self.boot(
                entry['flavor'],
                scheduler_hints=base.member_hints(self.uuid, path),
            )
        except client_exc.ClientException as exc:
            self.assertIn(exc.code, (403, 409))
            return exc.code
        return server.status

    @operation('ACTIVE', 'LEAVING')
    def rebuild(self, path):
        nova = self.cloud.nova('admin')
        name = self.rng.choice(('cirros', 'cirros-next', 'cirros-uefi'))
        server = self.server_of(path)
        nova.servers.rebuild(server, image.image_id(name))
        return name, self.wait_until_idle(server).status

    @operation('HELD')
    def fail_spawn(self, path):
        def spawn(*_args, **_kwargs):
            raise nova_exc.BuildAbortException(
                instance_uuid='', reason='a test'
            )

        with fixtures.MonkeyPatch('nova.virt.fake.FakeDriver.spawn', spawn):
            return self.create_server(path)

    @operation('ACTIVE', 'SHELVED', 'LEAVING', weight=2)
    def delete_server(self, path):
        self.delete_servers(self.server_of(path))

    @operation('ACTIVE')
    def migrate(self, path):
        return self.move('migrate', self.server_of(path))

    @operation('ACTIVE')
    def live_migrate(self, path):
        return self.move('live_migrate', self.server_of(path))

    @operation('ACTIVE')
    def revert(self, path):
        server = self.server_of(path)
        self.cloud.nova('admin').servers.migrate(server)
        outcome = self.wait_for_action(server)
        if self.wait_until_idle(server).status == 'VERIFY_RESIZE':
            server.revert_resize()
            self.wait_for_action(server, 'revertResize')
        return outcome, self.wait_until_idle(server).status

    @operation('ACTIVE')
    def resize(self, path):
        try:
            return self.move('resize', self.server_of(path))
        except client_exc.BadRequest as exc:
            # The image of a server that was shelved needs its former disk.
            return exc.code

    def _resize(self, server, _source):
        others = {*FLAVORS} - {server.flavor['original_name']}
        name = self.rng.choice(sorted(others))
        server.resize(self.cloud.nova('admin').flavors.find(name=name))

    @operation('ACTIVE')
    def evacuate(self, path):
        server = self.server_of(path)
        [service] = self.compute_services(self.server_host(server))
        outcome = self.move('evacuate', server)
        self.restart_compute(service, server)
        return outcome

    def restart_compute(self, service, server):
        """Restart a compute, which cleans up the servers that have left it."""
        self._restart_compute(service)
        now = self.cloud.nova('admin').servers.get(server)
        if self.server_host(now) != service.host:
            client = report.SchedulerReportClient()
            client.remove_provider_tree_from_instance_allocation(
                self.context, server.id, self.cloud.provider(service.host)
            )
        if now.status == 'ERROR':
            now.reset_state('active')
        elif now.status == 'SHUTOFF':
            # Nova knew of no power when it was evacuated.
            now.start()
            self.eventually(
                self.wait_until_idle,
                lambda now: now.status == 'ACTIVE',
                server,
            )

    @operation('ACTIVE')
    def shelve_server(self, path):
        # The image that Nova makes of it is to be its owner's.
        self.shelve(
            self.cloud.nova('demo').servers.get(self.server_id_of(path))
        )

    @operation('SHELVED', weight=2)
    def unshelve(self, path):
        return self.move('unshelve', self.server_of(path))

    @operation()
    def create_foreign_server(self):
        return self.boot('m1.medium').status

    # -- hosts and time ----------------------------------------------------

    def compute_services(self, host):
        return self.cloud.nova('admin').services.list(
            host=host, binary='nova-compute'
        )

    @operation()
    def disable_or_enable_host(self):
        host = self.rng.choice(self.HOSTS).name
        [service] = self.compute_services(host)
        services = service.manager
        if service.status == 'disabled':
            services.enable(service.id)
        else:
            services.disable(service.id)
            self.addCleanup(services.enable, service.id)
        return host

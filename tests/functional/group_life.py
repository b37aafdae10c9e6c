# SPDX-License-Identifier: Apache-2.0
"""What may happen to a group in its life: to its members, servers and hosts.

Each step is asked for as a tenant or an admin would, and waits for its end.
What it comes to is not said here: whatever it is, the promises hold.
"""

import copy

import fixtures
from nova import exception as nova_exc
from nova.scheduler.client import report

from tests.functional import base
from tests.functional import moves
from tests.functional import promises

NAMES = ('a', 'b', 'c', 'd', 'e')
FLAVORS = ('m1.tiny', 'm1.small', 'm1.medium')
POLICIES = (
    moves.policy('anti-affinity', 'host'),
    moves.policy('affinity', 'rack'),
    moves.policy('spread', 'rack', min_domains=2),
)
# These need room in the quota of servers.
CREATES = ('adopt', 'create_server', 'create_stranger', 'fail_to_build')
# What the API may answer to a change: done, or a reason not to.
ANSWERS = (202, 400, 403, 404, 409)

STEPS = {}


def step(*statuses, weight=1):
    """Let a step be taken where a member is in one of the states."""

    def decorate(function):
        STEPS[function.__name__] = (function, statuses, weight)
        return function

    return decorate


class GroupLife(promises.Promises, moves.MovingTestCase):
    """The group ``self.uuid``, drawing from ``self.rng`` what happens."""

    def paths(self, *statuses):
        return [
            member['path']
            for member in self.now['members']
            if member['status'] in statuses
        ]

    def possible(self):
        """Return the names of the steps that can be taken now."""
        is_full = len(self.servers_now) >= self.LIMIT
        return [
            name
            for name, (_step, statuses, weight) in STEPS.items()
            if not (is_full and name in CREATES)
            if not statuses or self.paths(*statuses)
            for _each in range(weight)
        ]

    def take(self, name):
        """Take a step with a member, if it is one that is about a member.

        :returns: what was done, as text
        """
        function, statuses, _weight = STEPS[name]
        if not statuses:
            return f'{name} {function(self) or ""}'
        path = self.rng.choice(self.paths(*statuses))
        return f'{name} {path} {function(self, path) or ""}'

    # -- what is asked -----------------------------------------------------

    def ask(self, response):
        """Wait for what was asked to be decided, unless it was refused."""
        self.assertIn(response.status_code, ANSWERS, response.text)
        self.eventually(
            self.group,
            lambda now: (
                now['status'] != 'PLANNING'
                and (now['revision'] or {}).get('status') != 'PLANNING'
            ),
            self.uuid,
        )
        return response.status_code

    def put(self, topology):
        body = {'generation': self.now['generation'], 'topology': topology}
        return self.ask(
            self.api().put(
                f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body}
            )
        )

    def act_on(self, action, body=None):
        return self.ask(self.act(self.uuid, action, body))

    @property
    def topology(self):
        return copy.deepcopy(self.now['topology'])

    def server_of(self, path):
        return self.servers_now[self.id_of(path)]

    def id_of(self, path):
        [member] = [m for m in self.now['members'] if m['path'] == path]
        return member['server_id']

    def flavor_of(self, path):
        return self.now['topology']['members'][path]['flavor']

    def new_member(self):
        return base.member(self.rng.choice(FLAVORS))

    # -- the definition ----------------------------------------------------

    @step(weight=2)
    def revise(self):
        topology = self.topology
        for name in self.rng.sample(NAMES, 2):
            if name not in topology['members']:
                topology['members'][name] = self.new_member()
            elif len(topology['members']) > 1 and self.rng.random() < 0.5:
                del topology['members'][name]
            else:
                topology['members'][name] = self.new_member()
        return self.put(topology)

    @step()
    def change_policies(self):
        policies = [self.rng.choice(POLICIES)]
        return self.put({**self.topology, 'policies': policies})

    @step()
    def add(self):
        path = self.rng.choice(NAMES)
        member = {'path': path, **self.new_member()}
        answer = self.api().post(
            f'{base.GROUPS}/{self.uuid}/members', json={'member': member}
        )
        return f'{path}: {self.ask(answer)}'

    @step('HELD', 'ACTIVE', 'FAILED', 'RELEASED', 'TENTATIVE')
    def drop(self, path):
        return self.ask(
            self.api().delete(f'{base.GROUPS}/{self.uuid}/members/{path}')
        )

    @step('ACTIVE', 'SHELVED')
    def keep_server(self, path):
        return self.ask(
            self.api().delete(
                f'{base.GROUPS}/{self.uuid}/members/{path}',
                params={'keep_server': 'true'},
            )
        )

    @step('HELD', 'TENTATIVE', 'FAILED', 'RELEASED')
    def adopt(self, path):
        stranger = self.boot(self.flavor_of(path))
        return self.act_on('adopt', {'servers': {path: stranger.id}})

    @step(weight=2)
    def replan(self):
        return self.act_on('replan')

    @step('HELD')
    def replan_one(self, path):
        return self.act_on('replan', {'members': [path]})

    @step('HELD')
    def release(self, path):
        return self.act_on('release', {'members': [path]})

    @step()
    def extend(self):
        return self.act_on('extend', {'expires_in': 5000})

    # -- servers -----------------------------------------------------------

    @step('HELD', weight=4)
    def create_server(self, path):
        hints = base.pointer(self.uuid, path)
        return self.boot(self.flavor_of(path), scheduler_hints=hints).status

    @step('HELD')
    def fail_to_build(self, path):
        def spawn(*_args, **_kwargs):
            raise nova_exc.BuildAbortException(
                instance_uuid='', reason='a test'
            )

        with fixtures.MonkeyPatch('nova.virt.fake.FakeDriver.spawn', spawn):
            return self.create_server(path)

    @step('ACTIVE', 'SHELVED')
    def delete_server(self, path):
        self.remove(self.server_of(path))

    @step('ACTIVE')
    def migrate(self, path):
        return self.move('migrate', self.server_of(path))

    @step('ACTIVE')
    def live_migrate(self, path):
        return self.move('live_migrate', self.server_of(path))

    @step('ACTIVE')
    def revert(self, path):
        server = self.server_of(path)
        self.cloud.nova('admin').servers.migrate(server)
        outcome = self.ended(server)
        if self.settled(server).status == 'VERIFY_RESIZE':
            server.revert_resize()
            self.ended(server, 'revertResize')
        return outcome, self.settled(server).status

    @step('ACTIVE')
    def resize(self, path):
        return self.move('resize', self.server_of(path))

    def _resize(self, server, _source):
        others = {*FLAVORS} - {server.flavor['original_name']}
        name = self.rng.choice(sorted(others))
        server.resize(self.cloud.nova('admin').flavors.find(name=name))

    @step('ACTIVE')
    def evacuate(self, path):
        server = self.server_of(path)
        [service] = self.computes(self.place(server))
        outcome = self.move('evacuate', server)
        self.come_back(service, server)
        return outcome

    def come_back(self, service, server):
        """Let a compute start again: what has left it is cleaned up there."""
        self._bring_back(service)
        now = self.cloud.nova('admin').servers.get(server)
        if self.place(now) != service.host:
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
                self.settled, lambda now: now.status == 'ACTIVE', server
            )

    @step('ACTIVE')
    def shelve_server(self, path):
        # The image that Nova makes of it is to be its owner's.
        self.shelve(self.cloud.nova('demo').servers.get(self.id_of(path)))

    @step('SHELVED', weight=2)
    def unshelve(self, path):
        return self.move('unshelve', self.server_of(path))

    @step()
    def create_stranger(self):
        return self.boot('m1.medium').status

    # -- hosts and time ----------------------------------------------------

    def computes(self, host):
        return self.cloud.nova('admin').services.list(
            host=host, binary='nova-compute'
        )

    @step()
    def disable_or_enable_host(self):
        host = self.rng.choice(self.HOSTS).name
        [service] = self.computes(host)
        services = service.manager
        if service.status == 'disabled':
            services.enable(service.id)
        else:
            services.disable(service.id)
            self.addCleanup(services.enable, service.id)
        return host

# SPDX-License-Identifier: Apache-2.0
"""Every way in which Nova moves a server, as tests ask for it."""

import dataclasses

from nova import objects as nova_objects
from novaclient import api_versions

from nova_groupext.cloud import hosts
from nova_groupext.scheduler.follow import server_changes
from tests.functional import base

HOSTS = (
    hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-2', 'r1', 'az1', vcpus=8),
    hosts.Host('cmp-3', 'r2', 'az1', vcpus=8),
    hosts.Host('cmp-4', 'r2', 'az1', vcpus=8),
)

# Moves, and what the servers' list of actions calls them. One server can make
# them all in this order: its host is down when it is evacuated.
ACTIONS = {
    'migrate': 'migrate',
    'live_migrate': 'live-migration',
    'unshelve': 'unshelve',
    'resize': 'resize',
    'evacuate': 'evacuate',
}


def policy(kind, scope, **more):
    return {'type': kind, 'scope': scope, **more}


def group(count, *policies):
    return {
        'members': {'m': base.member(count=count)},
        'policies': list(policies),
    }


class MovingTestCase(base.StepTestCase):
    """Moves the members of groups; the reaper's steps are taken by hand."""

    HOSTS = HOSTS
    PARTS = dataclasses.replace(
        base.WITHOUT_REAPER,
        config=f'{base.WITHOUT_REAPER.config}\n[DEFAULT]\n'
        'allow_resize_to_same_host = true\n',
    )

    def follow(self):
        server_changes.follow_servers(
            self.context, self.placement_client, self.leases
        )

    def create_group_servers(self, topology, flavor='m1.tiny'):
        """Hold a group and create all of its servers.

        :returns: (group's id, {path: server})
        """
        uuid = self.hold_group(topology)['id']
        created = {
            path: self.create(
                flavor, scheduler_hints=base.member_hints(uuid, path)
            )
            for path in sorted(self.planned_hosts(uuid))
        }
        # All at once takes less time than one after the other.
        self.addCleanup(self.delete_servers, *created.values())
        return uuid, {
            path: self.wait_for_build(each) for path, each in created.items()
        }

    def hosts_of(self, servers):
        """Return {path: host} of servers that exist."""
        return {path: self.host_of(each) for path, each in servers.items()}

    # -- moves -------------------------------------------------------------

    def move(self, kind, server):
        """Move a server and wait for the end.

        :returns: (how the action ended, the server's status)
        """
        admin = self.cloud.nova('admin').servers.get(server)
        source = self.host_of(server)
        getattr(self, f'_{kind}')(admin, source)
        self.wait_for_action(server, ACTIONS[kind])
        now = self.wait_until_idle(server)
        # Of several events the first may have been a success.
        outcome = self.wait_for_action(server, ACTIONS[kind])
        if now.status == 'VERIFY_RESIZE':
            now.confirm_resize()
            now = self.eventually(
                self.wait_until_idle,
                lambda now: now.status != 'VERIFY_RESIZE',
                server,
            )
        self.wait_for_source_release(server)
        return outcome, now.status

    def wait_for_source_release(self, server):
        """Wait until Nova has emptied what a server has left behind.

        It does so a little after the server rests on its new host.
        """
        for migration in nova_objects.MigrationList.get_by_filters(
            self.context, {'instance_uuid': server.id}
        ):
            self.eventually(
                self.allocations, lambda left: left == {}, migration.uuid
            )

    def wait_for_action(self, server, action='migrate'):
        """Wait until a server's newest action has ended, and return how."""
        return self.eventually(
            self.action_result,
            lambda result: result is not None,
            server,
            action,
        )

    def wait_until_idle(self, server):
        """Return a server when nothing is done with it any more."""
        return self.eventually(
            self.cloud.nova('admin').servers.get,
            lambda now: getattr(now, 'OS-EXT-STS:task_state') is None,
            server,
        )

    def action_result(self, server, action):
        """Return how a server's newest action ended; None before that."""
        actions = self.cloud.nova('admin').instance_action
        newest = next(iter(actions.list(server)), None)
        if newest is None or newest.action != action:
            return None
        events = actions.get(server, newest.request_id).events
        results = [event['result'] for event in events]
        if 'Error' in results:
            return 'Error'
        return None if None in results or not results else 'Success'

    @staticmethod
    def _migrate(server, _source):
        server.migrate()

    @staticmethod
    def _live_migrate(server, _source):
        server.live_migrate(block_migration='auto')

    def _resize(self, server, _source):
        flavors = self.cloud.nova('admin').flavors
        server.resize(flavors.find(name='m1.small'))

    def _evacuate(self, server, source):
        services = self.cloud.nova('admin').services
        [service] = services.list(host=source, binary='nova-compute')
        services.force_down(service.id, True)
        self.addCleanup(self._restart_compute, service)
        server.evacuate()

    def _restart_compute(self, service):
        """Set a host up again, like a restart of its compute."""
        evacuated = nova_objects.MigrationList.get_by_filters(
            self.context,
            {'source_compute': service.host, 'status': 'done'},
        )
        for migration in evacuated:
            migration.status = 'completed'
            migration.save()
        service.manager.force_down(service.id, False)

    def shelve(self, server):
        """Take a server from its host."""
        server.shelve()
        self.eventually(
            self.cloud.nova('admin').servers.get,
            lambda now: now.status == 'SHELVED_OFFLOADED',
            server,
        )
        self.eventually(self.host_of, lambda host: host is None, server)

    @staticmethod
    def _unshelve(server, _source):
        server.unshelve()

    def unshelve_to(self, server, **destination):
        """Unshelve a server to a host or zone; return as move() does."""
        self.cloud.nova('admin').servers.get(server).unshelve(**destination)
        outcome = self.wait_for_action(server, 'unshelve')
        return outcome, self.wait_until_idle(server).status

    def force_live_migration(self, server, host):
        """Live-migrate past the scheduler, as admins could until 2.67."""
        nova = self.cloud.nova('admin')
        nova.api_version = api_versions.APIVersion('2.60')
        nova.servers.get(server).live_migrate(
            host=host, block_migration='auto', force=True
        )
        self.assertEqual(
            'Success', self.wait_for_action(server, 'live-migration')
        )
        self.wait_until_idle(server)
        self.wait_for_source_release(server)
        self.assertEqual(host, self.host_of(server))

# SPDX-License-Identifier: Apache-2.0
"""Running servers that groups adopt and that leave their groups."""

import dataclasses

from nova import objects as nova_objects

from nova_groupext.cloud import accounts
from tests.functional import base
from tests.functional import moves
from tests.functional import revising

APART = {
    'members': {'a': base.member(count=3)},
    'policies': [{'type': 'anti-affinity', 'scope': 'host'}],
}
OTHERS = {'colour': ['blue']}


class AdoptingTestCase(revising.PlanningTestCase, moves.MovingTestCase):
    """Four hosts with 8 VCPUs; the test runs the only planner."""

    HOSTS = moves.HOSTS
    PARTS = dataclasses.replace(moves.MovingTestCase.PARTS, services=())

    def plan_group(self, topology=APART, **group):
        """Describe and plan a group; returns its uuid."""
        uuid = self.post(topology=topology, **group).json()['vrt_group']['id']
        self.plan(uuid)
        return uuid

    def delete_group(self, uuid, user='demo'):
        self.api(user).delete(f'{base.GROUPS}/{uuid}')
        for _round in range(2):
            self.reap()

    def create_foreign_server(self, flavor='m1.tiny', **kwargs):
        """Create a server without hints of a group."""
        hints = {name: value for name, [value] in OTHERS.items()}
        return self.boot(flavor, scheduler_hints=hints, **kwargs)

    def create_foreign_server_on(self, host, **kwargs):
        """Create a server without hints of a group on a host."""
        server = self.create_foreign_server(**kwargs)
        if self.host_of(server) != host:
            admin = self.cloud.nova('admin').servers.get(server)
            admin.live_migrate(host, block_migration='auto')
            self.eventually(self.host_of, lambda now: now == host, server)
            self.wait_until_idle(server)
            self.wait_for_source_release(server)
        return server

    def request_adoption(self, uuid, servers):
        """Send the action; returns the response."""
        server_ids = {path: server.id for path, server in servers.items()}
        return self.act(uuid, 'adopt', {'servers': server_ids})

    def adopt(self, uuid, servers):
        """Send the action, and plan; returns the group after that."""
        response = self.request_adoption(uuid, servers)
        self.assertEqual(202, response.status_code, response.text)
        self.plan(self.draft_of(uuid))
        return self.group(uuid)

    def stored_hints(self, server):
        """Return the stored hints that Nova's moves of a server read."""
        return nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        ).scheduler_hints

    def adopted_hints(self, uuid, path):
        """Return the hints of a server that was adopted."""
        return {**OTHERS, 'vrt_group': [uuid], 'vrt_member': [path]}

    def server_allocations(self, server):
        """Return {provider: resources} that a server has in Placement."""
        return {
            provider: part['resources']
            for provider, part in self.allocations(server.id).items()
        }

    def set_quota_above_usage(self, **quotas):
        """Set the project's quotas to its usage plus some more."""
        usage = self.cloud.nova('admin').quotas.get(
            accounts.by_name('demo').project_id, detail=True
        )
        self.set_quota(
            **{
                name: getattr(usage, name)['in_use'] + more
                for name, more in quotas.items()
            }
        )

# SPDX-License-Identifier: Apache-2.0
"""Servers that run already, for tests that let them come and go."""

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
    """One planner, which is the test's; four hosts with 8 VCPUs."""

    HOSTS = moves.HOSTS
    PARTS = dataclasses.replace(moves.MovingTestCase.PARTS, services=())

    def grouped(self, topology=APART, **group):
        """Describe and plan a group; returns its uuid."""
        uuid = self.post(topology=topology, **group).json()['vrt_group']['id']
        self.plan(uuid)
        return uuid

    def delete_group(self, uuid, user='demo'):
        self.api(user).delete(f'{base.GROUPS}/{uuid}')
        for _round in range(2):
            self.reap()

    def server(self, flavor='m1.tiny', **kwargs):
        """Create a server that knows of no group."""
        hints = {name: value for name, [value] in OTHERS.items()}
        return self.boot(flavor, scheduler_hints=hints, **kwargs)

    def server_on(self, host, **kwargs):
        """The same, on a certain host."""
        server = self.server(**kwargs)
        if self.host_of(server) != host:
            admin = self.cloud.nova('admin').servers.get(server)
            admin.live_migrate(host, block_migration='auto')
            self.eventually(self.host_of, lambda now: now == host, server)
            self.settled(server)
            self.given_back(server)
        return server

    def ask_to_adopt(self, uuid, servers):
        """Send the action; returns the response as it comes."""
        given = {path: server.id for path, server in servers.items()}
        return self.act(uuid, 'adopt', {'servers': given})

    def adopt(self, uuid, servers):
        """Send the action, and plan; returns the group after that."""
        response = self.ask_to_adopt(uuid, servers)
        self.assertEqual(202, response.status_code, response.text)
        self.plan(self.draft_of(uuid))
        return self.group(uuid)

    def hints(self, server):
        """Return the hints that Nova's moves of a server would read."""
        return nova_objects.RequestSpec.get_by_instance_uuid(
            self.context, server.id
        ).scheduler_hints

    def pointing(self, uuid, path):
        """Return the hints of a server that was adopted."""
        return {**OTHERS, 'vrt_group': [uuid], 'vrt_member': [path]}

    def used(self, server):
        """Return {provider: resources} that a server has in Placement."""
        return {
            provider: part['resources']
            for provider, part in self.allocations(server.id).items()
        }

    def limited(self, **quotas):
        """Limit what the project may have to some more than it has now."""
        usage = self.cloud.nova('admin').quotas.get(
            accounts.by_name('demo').project_id, detail=True
        )
        self.limit(
            **{
                name: getattr(usage, name)['in_use'] + more
                for name, more in quotas.items()
            }
        )

# SPDX-License-Identifier: Apache-2.0
"""Users of the demo: tenants and the operator, with Nova's API."""

from keystoneauth1 import adapter

from demo_steps import scenario
from demo_steps import screen

GROUPS = '/os-vrt-groups'


class User:
    """A user of the cloud, with a novaclient and an adapter of its own."""

    def __init__(self, cloud, name):
        self._api = adapter.Adapter(
            cloud.session(name), service_type='compute'
        )
        self._nova = cloud.nova(name)

    def create(self, name, flavor, **kwargs):
        """Create a server without waiting for it, and return it."""
        return self._nova.servers.create(
            name,
            scenario.IMAGE,
            self._nova.flavors.find(name=flavor),
            nics='none',
            **kwargs,
        )

    def built(self, server):
        """Wait until a server leaves BUILD, and return it."""
        return screen.wait_for(
            f'waited for server {server.name} to be built',
            lambda: self._nova.servers.get(server),
            lambda current: current.status != 'BUILD',
        )

    def boot(self, *args, **kwargs):
        return self.built(self.create(*args, **kwargs))

    def remove(self, servers):
        """Delete servers and wait until they are gone."""
        for server in servers:
            server.delete()
        deleted_ids = {server.id for server in servers}
        screen.wait_for(
            'waited for servers to be deleted',
            lambda: (
                {each.id for each in self._nova.servers.list()} & deleted_ids
            ),
            lambda remaining: not remaining,
        )

    def group(self, uuid):
        """Return the response to GET of a group; 404 raises no exception."""
        return self._api.get(f'{GROUPS}/{uuid}', raise_exc=False)


class Tenant(User):
    """A tenant: creates a group and its servers, releases members."""

    def keep_apart(self, name):
        """Create an anti-affinity server group; return its scheduler hint."""
        server_group = self._nova.server_groups.create(name, 'anti-affinity')
        return {'group': server_group.id}

    def describe(self, name, topology):
        """Create a group and return its id."""
        body = {'vrt_group': {'name': name, 'topology': topology}}
        return self._api.post(GROUPS, json=body).json()['vrt_group']['id']

    def redeem(self, uuid, path):
        """Redeem a member: create its server, with the two hints."""
        return self.boot(
            scenario.name_of(path),
            scenario.TIER_OF[path].flavor,
            scheduler_hints={'vrt_group': uuid, 'vrt_member': path},
        )

    def release(self, uuid, paths):
        body = {'release': {'members': list(paths)}}
        self._api.post(f'{GROUPS}/{uuid}/action', json=body)

    def delete_group(self, uuid):
        self._api.delete(f'{GROUPS}/{uuid}')


class Operator(User):
    """The operator: sees hosts, and occupies them with other servers."""

    def occupy(self, host, vcpus):
        """Create a server with ``vcpus`` on a host, without waiting."""
        name = f'busy-{vcpus}'
        if name not in {each.name for each in self._nova.flavors.list()}:
            self._nova.flavors.create(name, 2048 * vcpus, vcpus, 20 * vcpus)
        return self.create(
            f'{name}-{host.name}',
            name,
            availability_zone=f'{host.zone}:{host.name}',
        )

    def host_of(self, server):
        shown = self._nova.servers.get(server)
        return getattr(shown, 'OS-EXT-SRV-ATTR:host')

    def members(self, uuid):
        """Return the members of a group as the API shows them to an admin."""
        return self.group(uuid).json()['vrt_group']['members']

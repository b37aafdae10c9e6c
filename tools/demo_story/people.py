# SPDX-License-Identifier: Apache-2.0
"""Who acts in the demo: a tenant and the operator, each through Nova's API."""

from keystoneauth1 import adapter

from demo_story import scenario
from demo_story import screen

GROUPS = '/os-vrt-groups'


class User:
    """A user of the cloud, with novaclient and a session of its own."""

    def __init__(self, cloud, name):
        self._api = adapter.Adapter(
            cloud.session(name), service_type='compute'
        )
        self._nova = cloud.nova(name)

    def create(self, name, flavor, **kwargs):
        """Ask for a server and return at once."""
        return self._nova.servers.create(
            name,
            scenario.IMAGE,
            self._nova.flavors.find(name=flavor),
            nics='none',
            **kwargs,
        )

    def built(self, server):
        """Return the server when it is ACTIVE or ERROR."""
        return screen.wait_for(
            f'waited for server {server.name} to be built',
            lambda: self._nova.servers.get(server),
            lambda now: now.status != 'BUILD',
        )

    def boot(self, *args, **kwargs):
        return self.built(self.create(*args, **kwargs))

    def remove(self, servers):
        """Delete servers and wait until they are gone."""
        for server in servers:
            server.delete()
        gone = {server.id for server in servers}
        screen.wait_for(
            'waited for servers to be deleted',
            lambda: {each.id for each in self._nova.servers.list()} & gone,
            lambda left: not left,
        )

    def group(self, uuid):
        """Return the response that shows a group to this user."""
        return self._api.get(f'{GROUPS}/{uuid}', raise_exc=False)


class Tenant(User):
    """Describes a group, creates its servers, gives some up."""

    def keep_apart(self, name):
        """Make one of Nova's own server groups; returns the hint for it."""
        made = self._nova.server_groups.create(name, 'anti-affinity')
        return {'group': made.id}

    def describe(self, name, topology):
        """POST a group; returns its id."""
        body = {'vrt_group': {'name': name, 'topology': topology}}
        return self._api.post(GROUPS, json=body).json()['vrt_group']['id']

    def redeem(self, uuid, path):
        """Create the server of a member, with the two hints."""
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
    """Knows the hosts, and fills them with other people's servers."""

    def occupy(self, host, vcpus):
        """Ask for a server that takes that much of a host."""
        name = f'busy-{vcpus}'
        if name not in {each.name for each in self._nova.flavors.list()}:
            self._nova.flavors.create(name, 2048 * vcpus, vcpus, 20 * vcpus)
        return self.create(
            f'{name}-{host.name}',
            name,
            availability_zone=f'{host.zone}:{host.name}',
        )

    def host_of(self, server):
        found = self._nova.servers.get(server)
        return getattr(found, 'OS-EXT-SRV-ATTR:host')

    def members(self, uuid):
        """Return a group's members with their hosts."""
        return self.group(uuid).json()['vrt_group']['members']

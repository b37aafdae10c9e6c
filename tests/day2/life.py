# SPDX-License-Identifier: Apache-2.0
"""The life of a group whose servers one client creates and deletes."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import time

from nova_groupext.cloud import image
from tests.day2 import clients

IMAGE, NEXT_IMAGE, BROKEN_IMAGE = 'cirros', 'cirros-next', 'cirros-broken'
COUNT, MAX_COUNT = 2, 3
TIMEOUT_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Door:
    """Kind of hints by which a create names its group.

    :ivar hints: function that returns the hints for an SDK group and the
        name of a member
    """

    name: str
    hints: Callable[[object, str], clients.Hints]


DOORS = (
    Door(
        'vrt_member',
        lambda group, member: {
            'vrt_group': group.id,
            'vrt_member': f'front/{member}',
        },
    ),
    Door('group', lambda group, _member: {'group': group.subgroups['front']}),
)


class Life:
    """A group, and servers that one client creates and deletes."""

    def __init__(
        self,
        client: clients.Client,
        door: Door,
        variables: Mapping[str, str],
        vrt,
        admin,
    ):
        """Prepare a life, which begins with the first of ``STEPS``.

        :param variables: environment of the client
        :param vrt: SDK proxy of the tenant for groups
        :param admin: novaclient of the admin
        """
        self._client, self._door, self._variables = client, door, variables
        self._vrt, self._admin = vrt, admin
        self._name = f'{client.name}-{door.name}'
        self._image = IMAGE
        self._created = 0
        self._group = None

    def create_all(self) -> None:
        group = self._vrt.create_group(
            name=self._name, topology=self._topology()
        )
        self._group = self._vrt.wait_for_group(
            group, 'HELD', wait=TIMEOUT_SECONDS
        )
        for index in range(COUNT):
            self._create(f'web-{index}')

    def scale_out(self) -> None:
        """Create a server that is beyond the count."""
        self._create('web')

    def create_before_delete(self) -> None:
        """Create a successor of a server, and delete that."""
        self._replace('web-0')

    def scale_in(self) -> None:
        """Delete a server that is beyond the count."""
        self._delete('web-2')

    def update(self) -> None:
        """Describe another image, then replace the servers, one by one."""
        self._image = NEXT_IMAGE
        group = self._vrt.update_group(self._group, topology=self._topology())
        self._vrt.wait_for_group(group, wait=TIMEOUT_SECONDS)
        for member in self._settled():
            self._replace(member)

    def delete_and_create(self) -> None:
        member = min(self._settled())
        self._delete(member)
        self._create(member)

    def retry_failed_build(self) -> None:
        """Create a server again while that of a failed build is there."""
        member = max(self._settled())
        self._delete(member)
        good, self._image = self._image, BROKEN_IMAGE
        try:
            self._create(member)
        except clients.Failed:
            pass
        else:
            raise AssertionError('The client took a failed build for done.')
        self._image = good
        self._create(member)
        [failed] = [
            server.name
            for server in self._servers().values()
            if server.status == 'ERROR'
        ]
        self._run(self._client.delete(failed))

    def check(self, count: int) -> None:
        """Check that there are so many servers, as described and apart.

        :raises AssertionError: otherwise
        """
        self._settled(has_pending=False)
        hosts = {
            getattr(server, 'OS-EXT-SRV-ATTR:host')
            for server in self._servers().values()
        }
        if len(hosts) != count:
            raise AssertionError(f'There are not {count} hosts: {hosts}')

    def end(self) -> None:
        """Delete the group and its servers, whatever has failed."""
        for server in self._servers().values():
            server.delete()
        if self._group:
            self._vrt.delete_group(self._group)

    def _topology(self):
        web = {
            'flavor': 'm1.tiny',
            'image': image.image_id(self._image),
            'count': COUNT,
            'max_count': MAX_COUNT,
            'max_surge': 1,
        }
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        return {
            'groups': {'front': {'members': {'web': web}, 'policies': [apart]}}
        }

    def _create(self, member, is_retry=False):
        self._created += 1
        hints = self._door.hints(self._group, member)
        name = f'{self._name}-{self._created}'
        try:
            self._run(self._client.create(name, self._image, hints))
        except clients.Failed as exc:
            # So says a scheduler to which no planner has answered in time,
            # as happens on an overloaded machine.
            if is_retry or 'retry later' not in str(exc):
                raise
            self._run(self._client.delete(name))
            self._create(member, is_retry=True)

    def _replace(self, member):
        old = self._settled()[member]
        self._create(member)
        self._run(self._client.delete(old))

    def _delete(self, member):
        self._run(self._client.delete(self._settled()[member]))

    def _run(self, command):
        clients.run(command, self._variables)

    def _servers(self):
        """Return {id: server} of this life."""
        found = self._admin.servers.list(
            search_opts={'all_tenants': True, 'name': f'^{self._name}-'}
        )
        return {server.id: server for server in found}

    def _settled(self, has_pending=True):
        """Wait until each server is a member and there are no others.

        :param has_pending: whether servers may differ from the description
        :returns: {name of a member: name of its server}
        """
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            members = self._vrt.get_group(self._group).members
            servers = self._servers()
            if {each['server_id'] for each in members} == set(servers) and all(
                each['status'] == 'ACTIVE'
                and not each['successor']
                and (has_pending or not each['pending'])
                for each in members
            ):
                return {
                    each['path'].removeprefix('front/'): servers[
                        each['server_id']
                    ].name
                    for each in members
                }
            if time.monotonic() > deadline:
                raise AssertionError(f'Not the same: {members} {servers}')
            time.sleep(0.5)


#: Steps by their names, and how many servers there are after each
STEPS = {
    'create all': (Life.create_all, 2),
    'scale out': (Life.scale_out, 3),
    'create before delete': (Life.create_before_delete, 3),
    'scale in': (Life.scale_in, 2),
    'rolling update': (Life.update, 2),
    'delete and create': (Life.delete_and_create, 2),
    'failed build': (Life.retry_failed_build, 2),
}

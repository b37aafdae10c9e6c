# SPDX-License-Identifier: Apache-2.0
"""Servers of members: creation, search and status."""

import base64
from collections.abc import Iterator
import typing

from openstack import exceptions

from nova_groupext_client import api_types
from nova_groupext_client import hints
from nova_groupext_client.deploy import names
from nova_groupext_client.template import devices
from nova_groupext_client.template import networks
from nova_groupext_client.template import properties

if typing.TYPE_CHECKING:
    from openstack import connection

# From 2.100 on Nova shows the scheduler hints of a server.
_MICROVERSION = '2.100'

# Beside further devices Nova takes no root disk from the image by itself.
_ROOT_DISK: devices.Device = {
    'source_type': 'image',
    'destination_type': 'local',
    'boot_index': 0,
    'delete_on_termination': True,
}


#: Body of POST /servers.
Body = typing.TypedDict(
    'Body',
    {'server': dict[str, object], 'os:scheduler_hints': api_types.Object},
)


class Status(typing.NamedTuple):
    """Nova's status of a server, and the message of its fault.

    :ivar is_on_host: False if it was not built, or could not be
    """

    name: str
    fault: str | None
    is_on_host: bool


class _Server(typing.TypedDict):
    """A server as Nova shows it."""

    id: str
    status: str
    hostId: str
    fault: typing.NotRequired[api_types.Fault]
    scheduler_hints: typing.NotRequired[dict[str, list[str]] | None]


class _Document(typing.TypedDict):
    server: _Server
    servers: list[_Server]


class _Response(typing.Protocol):
    """Response of Nova, with either key of a _Document."""

    status_code: int

    def json(self) -> _Document: ...


class Servers:
    """Client for the servers of one project."""

    def __init__(
        self, conn: 'connection.Connection', ids: names.Names
    ) -> None:
        self._compute = conn.compute
        self._ids = ids

    def create(
        self, group_id: str, path: str, arguments: properties.Arguments
    ) -> str:
        """Create the server of a member and return its id.

        :raises: HttpException, UnknownName
        """
        body = self.body(group_id, path, arguments)
        response: _Response = self._compute.post(
            '/servers', json=body, microversion=_MICROVERSION
        )
        exceptions.raise_from_response(response)
        return response.json()['server']['id']

    def body(
        self, group_id: str, path: str, arguments: properties.Arguments
    ) -> Body:
        """Return the body of ``POST /servers`` for a member.

        :raises: UnknownName
        """
        server: dict[str, object] = {
            key: value
            for key, value in arguments.items()
            if key not in ('scheduler_hints', 'flavor', 'image')
        }
        scheduler_hints: api_types.Object = {
            **arguments.get('scheduler_hints', {}),
            hints.GROUP: group_id,
            hints.MEMBER: path,
        }
        server['flavorRef'] = self._ids.flavor(arguments['flavor'])
        image = arguments.get('image')
        server['imageRef'] = self._ids.image(image) if image else ''
        server_networks = arguments.get('networks', 'auto')
        server['networks'] = (
            server_networks
            if isinstance(server_networks, str)
            else [self._network(each) for each in server_networks]
        )
        if 'user_data' in arguments:
            raw = arguments['user_data'].encode()
            server['user_data'] = base64.b64encode(raw).decode()
        if 'security_groups' in arguments:
            server['security_groups'] = [
                {'name': name} for name in arguments['security_groups']
            ]
        if 'block_device_mapping_v2' in arguments:
            server['block_device_mapping_v2'] = self._devices(
                arguments['block_device_mapping_v2'], image
            )
        return {'server': server, 'os:scheduler_hints': scheduler_hints}

    def get_status(self, server_id: str) -> Status:
        """Return a server's status and fault; a deleted one is 'GONE'."""
        response = self._get(f'/servers/{server_id}')
        if response.status_code == 404:
            return Status('GONE', 'The server was deleted.', is_on_host=False)
        exceptions.raise_from_response(response)
        server = response.json()['server']
        fault = server.get('fault')
        return Status(
            server['status'],
            fault['message'] if fault else None,
            is_on_host=bool(server['hostId']),
        )

    def find_by_group(self, group_id: str) -> dict[str, str]:
        """Return {member path: server id} for the members of a group.

        Servers in ERROR are ignored.
        """
        server_ids = {}
        for server in self._list_all():
            server_hints = server.get('scheduler_hints') or {}
            if (
                group_id in server_hints.get(hints.GROUP, ())
                and server['status'] != 'ERROR'
            ):
                for path in server_hints.get(hints.MEMBER, ()):
                    server_ids[path] = server['id']
        return server_ids

    def _list_all(self) -> Iterator[_Server]:
        """Yield all servers of the project; the SDK's omit the hints."""
        marker: dict[str, str] = {}
        while True:
            response = self._get('/servers/detail', params=marker)
            exceptions.raise_from_response(response)
            servers = response.json()['servers']
            if not servers:
                return
            yield from servers
            marker = {'marker': servers[-1]['id']}

    def _get(self, path: str, **query: dict[str, str]) -> _Response:
        response: _Response = self._compute.get(
            path, microversion=_MICROVERSION, **query
        )
        return response

    def _network(self, network: networks.Network) -> dict[str, object]:
        body: dict[str, object] = {**network}
        if 'network' in network:
            del body['network']
            body['uuid'] = self._ids.network(network['network'])
        return body

    def _devices(
        self, described: list[devices.Device], image: str | None
    ) -> list[devices.Device]:
        """Return the devices of a server, after the disk of its image."""
        further = [self._device(each) for each in described]
        if not (image and further):
            return further
        root: devices.Device = {**_ROOT_DISK, 'uuid': self._ids.image(image)}
        return [root, *further]

    def _device(self, device: devices.Device) -> devices.Device:
        if device['source_type'] != 'image':
            return device
        return {**device, 'uuid': self._ids.image(device['uuid'])}

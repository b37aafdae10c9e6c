# SPDX-License-Identifier: Apache-2.0
"""Servers of members: creation, search and status."""

import base64

from openstack import exceptions

from nova_groupext_client import hints

# From 2.100 on Nova shows the scheduler hints of a server.
_MICROVERSION = '2.100'


class Servers:
    """Client for the servers of one project.

    :param conn: openstack.connection.Connection
    :param names: names.Names
    """

    def __init__(self, conn, names):
        self._compute = conn.compute
        self._names = names

    def create(self, group_id, path, arguments):
        """Create the server of a member and return its id.

        :param arguments: value in the ``servers`` of a Template
        :raises: HttpException, UnknownName
        """
        body = self.body(group_id, path, arguments)
        response = self._compute.post(
            '/servers', json=body, microversion=_MICROVERSION
        )
        exceptions.raise_from_response(response)
        return response.json()['server']['id']

    def body(self, group_id, path, arguments):
        """Return the body of ``POST /servers`` for a member.

        :raises: UnknownName
        """
        server = dict(arguments)
        scheduler_hints = {
            **server.pop('scheduler_hints', {}),
            hints.GROUP: group_id,
            hints.MEMBER: path,
        }
        server['flavorRef'] = self._names.flavor(server.pop('flavor'))
        image = server.pop('image', '')
        server['imageRef'] = self._names.image(image) if image else ''
        server['networks'] = self._networks(server.get('networks', 'auto'))
        if 'user_data' in server:
            raw = server['user_data'].encode()
            server['user_data'] = base64.b64encode(raw).decode()
        if 'security_groups' in server:
            server['security_groups'] = [
                {'name': name} for name in server['security_groups']
            ]
        if 'block_device_mapping_v2' in server:
            server['block_device_mapping_v2'] = [
                self._device(each)
                for each in server['block_device_mapping_v2']
            ]
        return {'server': server, 'os:scheduler_hints': scheduler_hints}

    def get_status(self, server_id):
        """Return a server's status and fault; a deleted one is 'GONE'."""
        response = self._get(f'/servers/{server_id}')
        if response.status_code == 404:
            return 'GONE', 'The server was deleted.'
        exceptions.raise_from_response(response)
        server = response.json()['server']
        return server['status'], server.get('fault', {}).get('message')

    def find_by_group(self, group_id):
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

    def _list_all(self):
        """Yield all servers of the project; the SDK's omit the hints."""
        marker = {}
        while True:
            response = self._get('/servers/detail', params=marker)
            exceptions.raise_from_response(response)
            servers = response.json()['servers']
            if not servers:
                return
            yield from servers
            marker = {'marker': servers[-1]['id']}

    def _get(self, path, **query):
        return self._compute.get(path, microversion=_MICROVERSION, **query)

    def _networks(self, networks):
        if isinstance(networks, str):
            return networks
        return [
            {
                'uuid' if key == 'network' else key: self._names.network(value)
                if key == 'network'
                else value
                for key, value in network.items()
            }
            for network in networks
        ]

    def _device(self, device):
        if device['source_type'] != 'image':
            return device
        return {**device, 'uuid': self._names.image(device['uuid'])}

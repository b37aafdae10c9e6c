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
        answer = self._compute.post(
            '/servers', json=body, microversion=_MICROVERSION
        )
        exceptions.raise_from_response(answer)
        return answer.json()['server']['id']

    def body(self, group_id, path, arguments):
        """Return the body of ``POST /servers`` for a member.

        :raises: UnknownName
        """
        server = dict(arguments)
        pointed = {
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
        return {'server': server, 'os:scheduler_hints': pointed}

    def look(self, server_id):
        """Return a server's status and fault; a deleted one is 'GONE'."""
        answer = self._get(f'/servers/{server_id}')
        if answer.status_code == 404:
            return 'GONE', 'The server was deleted.'
        exceptions.raise_from_response(answer)
        server = answer.json()['server']
        return server['status'], server.get('fault', {}).get('message')

    def of(self, group_id):
        """Return {member path: server id} for the members of a group.

        Servers in ERROR are ignored.
        """
        found = {}
        for server in self._all():
            given = server.get('scheduler_hints') or {}
            if (
                group_id in given.get(hints.GROUP, ())
                and server['status'] != 'ERROR'
            ):
                for path in given.get(hints.MEMBER, ()):
                    found[path] = server['id']
        return found

    def _all(self):
        """Yield all servers of the project; the SDK's omit the hints."""
        marker = {}
        while True:
            answer = self._get('/servers/detail', params=marker)
            exceptions.raise_from_response(answer)
            servers = answer.json()['servers']
            if not servers:
                return
            yield from servers
            marker = {'marker': servers[-1]['id']}

    def _get(self, path, **query):
        return self._compute.get(path, microversion=_MICROVERSION, **query)

    def _networks(self, given):
        if isinstance(given, str):
            return given
        return [
            {
                'uuid' if key == 'network' else key: self._names.network(value)
                if key == 'network'
                else value
                for key, value in each.items()
            }
            for each in given
        ]

    def _device(self, given):
        if given['source_type'] != 'image':
            return given
        return {**given, 'uuid': self._names.image(given['uuid'])}

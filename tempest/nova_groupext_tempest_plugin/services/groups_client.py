# SPDX-License-Identifier: Apache-2.0
"""Client of ``/os-vrt-groups`` on the compute endpoint."""

from urllib import parse

from oslo_serialization import jsonutils as json
from tempest.lib.common import rest_client

from nova_groupext_tempest_plugin.services.schemas import capabilities
from nova_groupext_tempest_plugin.services.schemas import groups

GROUPS = 'os-vrt-groups'


class GroupsClient(rest_client.RestClient):
    """Client of a tenant; checks each response against a JSON schema."""

    schemas = groups.TENANT

    def show_capabilities(self):
        return self.call(
            'GET', '/capabilities', schema=capabilities.CAPABILITIES
        )

    def list_groups(self, detail=False, **query):
        if detail:
            return self.call(
                'GET', '/detail', query=query, schema=self.schemas.list_detail
            )
        return self.call('GET', '', query=query, schema=self.schemas.list)

    def show_group(self, group_id):
        return self.call('GET', f'/{group_id}', schema=self.schemas.show)

    def create_group(self, **group):
        return self.call(
            'POST', '', {'vrt_group': group}, schema=self.schemas.create
        )

    def update_group(self, group_id, **group):
        return self.call(
            'PUT',
            f'/{group_id}',
            {'vrt_group': group},
            schema=self.schemas.update,
        )

    def delete_group(self, group_id, **query):
        return self.call(
            'DELETE', f'/{group_id}', query=query, schema=self.schemas.delete
        )

    def act(self, group_id, action, **body):
        """Send an action; an empty body is sent as ``null``."""
        return self.call(
            'POST',
            f'/{group_id}/action',
            {action: body or None},
            schema=self.schemas.action,
        )

    def show_proposal(self, group_id):
        return self.call(
            'GET', f'/{group_id}/proposal', schema=self.schemas.proposal
        )

    def list_members(self, group_id, **query):
        return self.call(
            'GET',
            f'/{group_id}/members',
            query=query,
            schema=self.schemas.list_members,
        )

    def show_member(self, group_id, path):
        return self.call(
            'GET',
            f'/{group_id}/members/{path}',
            schema=self.schemas.show_member,
        )

    def add_member(self, group_id, **member):
        return self.call(
            'POST',
            f'/{group_id}/members',
            {'member': member},
            schema=self.schemas.change_members,
        )

    def remove_member(self, group_id, path, **query):
        return self.call(
            'DELETE',
            f'/{group_id}/members/{path}',
            query=query,
            schema=self.schemas.change_members,
        )

    def call(self, method, path, body=None, query=None, schema=None):
        """Send a request below ``/os-vrt-groups``.

        :param body: JSON value; None sends no body
        :param schema: schema of the response; None skips the check
        :raises: tempest.lib.exceptions.RestClientException on failure
        """
        url = GROUPS + path
        if query:
            url = f'{url}?{parse.urlencode(query)}'
        request_body = None if body is None else json.dumps(body)
        resp, text = self.request(method, url, body=request_body)
        answer = json.loads(text) if text else None
        if schema is not None:
            self.validate_response(schema, resp, answer)
        return rest_client.ResponseBody(resp, answer)


class AdminGroupsClient(GroupsClient):
    """Client of an admin, whose responses have hosts, costs and stats."""

    schemas = groups.ADMIN

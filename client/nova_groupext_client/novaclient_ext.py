# SPDX-License-Identifier: Apache-2.0
"""Extension of python-novaclient that adds ``client.vrt_groups``.

Usage::

    nova = client.Client('2.1', session=session,
                         extensions=client.discover_extensions())
    group = nova.vrt_groups.find(name='shop')
"""

from urllib import parse

from novaclient import base

_URL = '/os-vrt-groups'
# Attributes that the API filters by, under the same names.
_FILTERS = ('name', 'status')


class VrtGroup(base.Resource):
    """A group with the attributes that the API shows."""

    def delete(self):
        """Delete the group and release its holds; its servers keep running."""
        return self.manager.delete(self)


class VrtMember(base.Resource):
    """A member of a group with the attributes that the API shows."""

    NAME_ATTR = 'path'


class VrtGroupManager(base.ManagerWithFind):
    """Manager of VRT groups.

    A parameter ``group`` takes the id of a group or a VrtGroup. A parameter
    ``generation`` takes the generation that the caller last read: the API
    rejects the change if the group has another one now.
    """

    resource_class = VrtGroup

    def list(self, detailed=True, search_opts=None, limit=None, marker=None):
        """Return one page of groups, a list of VrtGroup.

        :param search_opts: ``name``, ``status``, ``member_status``,
            ``server_id``, ``client_token``, ``changes-since``, ``sort_key``,
            ``sort_dir``, and for admins ``all_projects`` and ``project_id``
        """
        filters = dict(search_opts or {})
        if limit is not None:
            filters['limit'] = limit
        if marker is not None:
            filters['marker'] = base.getid(marker)
        url = f'{_URL}/detail' if detailed else _URL
        return self._list(url, 'vrt_groups', filters=filters)

    def findall(self, **attributes):
        """Return the groups with these attributes, of all pages."""
        known = {n: v for n, v in attributes.items() if n in _FILTERS}
        found = page = self.list(search_opts=known)
        while page:
            page = self.list(search_opts=known, marker=page[-1])
            found.extend(page)
        return base.ListWithMeta(
            [
                group
                for group in found
                if all(
                    getattr(group, name, None) == value
                    for name, value in attributes.items()
                )
            ],
            None,
        )

    def get(self, group):
        """Return the current VrtGroup."""
        return self._get(_url(group), 'vrt_group')

    def create(self, name, topology, **attrs):
        """Create a group; the planner plans it and holds its capacity.

        :param attrs: ``description``, ``hold``, ``expires_in``,
            ``client_token`` and ``boot``
        """
        body = {'vrt_group': {'name': name, 'topology': topology, **attrs}}
        return self._create(_URL, body, 'vrt_group')

    def update(self, group, generation, topology=None, **attrs):
        """Revise a group; the planner plans it again around its servers.

        Without a topology only the other attributes change, without planning.

        :param generation: generation that the caller last read
        :param attrs: ``name``, ``description``, ``expires_in`` and
            ``keep_server``: True to keep servers of removed members running
        """
        revised = {'generation': generation, **attrs}
        if topology is not None:
            revised['topology'] = topology
        return self._update(_url(group), {'vrt_group': revised}, 'vrt_group')

    def delete(self, group, generation=None):
        """Delete a group and release its holds; its servers keep running."""
        return self._delete(_url(group) + _query(generation=generation))

    def hold(self, group, generation=None):
        """Hold a group that has no holds, after planning it again."""
        return self._act(group, 'hold', generation=generation)

    def release(self, group, members=None, generation=None):
        """Release members without a server: these paths, or all."""
        return self._act(
            group, 'release', members=members, generation=generation
        )

    def replan(self, group, members=None, generation=None):
        """Plan members without a server again; only ``members`` may move."""
        return self._act(
            group, 'replan', members=members, generation=generation
        )

    def extend(self, group, expires_in=None, generation=None):
        """Extend the holds until ``expires_in`` seconds from now."""
        return self._act(
            group, 'extend', expires_in=expires_in, generation=generation
        )

    def adopt(self, group, servers, generation=None):
        """Turn existing servers into members.

        :param servers: {path of a member: id of its server}
        """
        return self._act(
            group, 'adopt', servers=servers, generation=generation
        )

    def boot(self, group, servers=None, generation=None):
        """Start the creation of the servers of all held members by Nova.

        The group's ``boot`` shows the progress.

        :param servers: {path, name of counted members, or ``default``:
            properties of a server, as ``POST /servers`` takes them}
        """
        return self._act(group, 'boot', servers=servers, generation=generation)

    def propose(self, group, generation=None):
        """Request a proposal of server moves that restore broken policies."""
        return self._act(group, 'propose', generation=generation)

    def proposal(self, group):
        """Return the proposal requested by :meth:`propose`, as a dict.

        Its ``status`` is ``planning`` until a planner has answered.
        """
        return self._get_value(f'{_url(group)}/proposal', 'proposal')

    def capabilities(self):
        """Return the cloud's policies, scopes, limits and quota, as a dict."""
        return self._get_value(f'{_URL}/capabilities', 'capabilities')

    def members(self, group, status=None, limit=None, marker=None):
        """Return one page of members, a list of VrtMember.

        :param marker: path of the last member of the previous page
        """
        query = _query(status=status, limit=limit, marker=marker)
        return self._list(
            f'{_url(group)}/members{query}', 'members', VrtMember
        )

    def add_member(self, group, path, **attrs):
        """Add a member, or with only ``count`` more counted members.

        :param attrs: description of the member: ``flavor``, ``image``,
            ``policies`` and so on; ``generation``
        """
        resp, body = self.api.client.post(
            f'{_url(group)}/members', body={'member': {'path': path, **attrs}}
        )
        return self.convert_into_with_meta(body, resp)

    def remove_member(self, group, path, keep_server=False, generation=None):
        """Remove a member; of counted members, the last one or all.

        :param keep_server: True to keep the member's server running
        """
        query = _query(keep_server=keep_server or None, generation=generation)
        return self._delete(
            f'{_url(group)}/members/{parse.quote(path)}{query}'
        )

    def _act(self, group, action, **parameters):
        parameters = {
            name: value
            for name, value in parameters.items()
            if value is not None
        }
        resp, body = self.api.client.post(
            f'{_url(group)}/action', body={action: parameters or None}
        )
        return self.convert_into_with_meta(body, resp)

    def _get_value(self, url, key):
        resp, body = self.api.client.get(url)
        return self.convert_into_with_meta(body[key], resp)


def _url(group):
    return f'{_URL}/{base.getid(group)}'


def _query(**parameters):
    """Return the query of a URL, without parameters that are None."""
    parameters = {
        name: value for name, value in parameters.items() if value is not None
    }
    return f'?{parse.urlencode(parameters)}' if parameters else ''

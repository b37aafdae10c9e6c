# SPDX-License-Identifier: Apache-2.0
"""``client.vrt_groups`` for python-novaclient, as one of its extensions::

nova = client.Client('2.1', session=session,
                     extensions=client.discover_extensions())
group = nova.vrt_groups.find(name='shop')
"""

from urllib import parse

from novaclient import base

_URL = '/os-vrt-groups'


class VrtGroup(base.Resource):
    """A group; its attributes are what the API shows."""

    def delete(self):
        """Give back what is held and forget the group; its servers go on."""
        return self.manager.delete(self)


class VrtMember(base.Resource):
    """A member of a group; its attributes are what the API shows."""

    NAME_ATTR = 'path'


class VrtGroupManager(base.ManagerWithFind):
    """Wherever a group is asked for, its id or a VrtGroup will do."""

    resource_class = VrtGroup

    def list(self, detailed=True, search_opts=None, limit=None, marker=None):
        """Return a list of VrtGroup, one page of it.

        :param search_opts: ``name``, ``status``, ``all_projects``
        """
        filters = dict(search_opts or {})
        if limit is not None:
            filters['limit'] = limit
        if marker is not None:
            filters['marker'] = base.getid(marker)
        url = f'{_URL}/detail' if detailed else _URL
        return self._list(url, 'vrt_groups', filters=filters)

    def get(self, group):
        """Return a VrtGroup as it is now."""
        return self._get(_url(group), 'vrt_group')

    def create(self, name, topology, **attrs):
        """Describe a group, to have it planned and held.

        :param attrs: ``description``, ``hold``, ``expires_in`` and
            ``client_token``
        """
        body = {'vrt_group': {'name': name, 'topology': topology, **attrs}}
        return self._create(_URL, body, 'vrt_group')

    def update(self, group, generation, topology=None, **attrs):
        """Revise a group, to have it planned again around its servers.

        Without a topology only what is said of it changes.

        :param generation: the one that was seen last
        :param attrs: ``name``, ``description``, ``expires_in`` and
            ``keep_server``: whether servers may be left out, and run on
        """
        revised = {'generation': generation, **attrs}
        if topology is not None:
            revised['topology'] = topology
        return self._update(_url(group), {'vrt_group': revised}, 'vrt_group')

    def delete(self, group):
        """Give back what is held and forget the group; its servers go on."""
        return self._delete(_url(group))

    def hold(self, group):
        """Keep what was only planned, or try once more."""
        return self._act(group, 'hold')

    def release(self, group, members=None):
        """Give up members that are no servers: these paths, or all."""
        return self._act(group, 'release', members=members)

    def replan(self, group, members=None):
        """Decide again for all that are no servers; only these may move."""
        return self._act(group, 'replan', members=members)

    def extend(self, group, expires_in=None):
        """Keep what is held for so many seconds from now."""
        return self._act(group, 'extend', expires_in=expires_in)

    def adopt(self, group, servers):
        """Let servers that run already become members.

        :param servers: {path of a member: id of its server}
        """
        return self._act(group, 'adopt', servers=servers)

    def boot(self, group, servers=None):
        """Have Nova create the servers of all members that are held.

        How far it has come tells ``boot`` of the group.

        :param servers: {path, name of a counted member, or ``default``: what
            ``POST /servers`` takes}
        """
        return self._act(group, 'boot', servers=servers)

    def propose(self, group):
        """Ask which servers to move for policies to hold."""
        return self._act(group, 'propose')

    def proposal(self, group):
        """Return, as a dict, what was proposed; see :meth:`propose`.

        Its ``status`` is ``planning`` until planners have an answer.
        """
        return self._shown(f'{_url(group)}/proposal', 'proposal')

    def capabilities(self):
        """Return, as a dict, what this cloud can do with groups."""
        return self._shown(f'{_URL}/capabilities', 'capabilities')

    def members(self, group):
        """Return a list of VrtMember."""
        return self._list(f'{_url(group)}/members', 'members', VrtMember)

    def add_member(self, group, path, **attrs):
        """Add a member, or with only ``count`` some more of those counted.

        :param attrs: what describes it: ``flavor``, ``image`` and so on
        """
        resp, body = self.api.client.post(
            f'{_url(group)}/members', body={'member': {'path': path, **attrs}}
        )
        return self.convert_into_with_meta(body, resp)

    def remove_member(self, group, path, keep_server=False):
        """Remove a member: of those that are counted the last one, or all.

        :param keep_server: whether it may be a server, which runs on
        """
        query = '?keep_server=True' if keep_server else ''
        return self._delete(
            f'{_url(group)}/members/{parse.quote(path)}{query}'
        )

    def _act(self, group, action, **given):
        given = {name: it for name, it in given.items() if it is not None}
        resp, body = self.api.client.post(
            f'{_url(group)}/action', body={action: given or None}
        )
        return self.convert_into_with_meta(body, resp)

    def _shown(self, url, key):
        resp, body = self.api.client.get(url)
        return self.convert_into_with_meta(body[key], resp)


def _url(group):
    return f'{_URL}/{base.getid(group)}'

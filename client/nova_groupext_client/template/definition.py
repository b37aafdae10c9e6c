# SPDX-License-Identifier: Apache-2.0
"""From servers and sections to a topology in the API's own form.

The sections ``members``, ``groups``, ``policies`` and ``relationships`` are
those of a topology; only a member is not described there, but named.
"""

import dataclasses
import functools
import json
import re

from nova_groupext_client.template import functions as calls
from nova_groupext_client.template import nodes
from nova_groupext_client.template import properties

SECTIONS = ('members', 'groups', 'policies', 'relationships')
#: Where the API finds a topology, in its messages.
TOPOLOGY = '$.vrt_group.topology'
_NUMBER = re.compile(r'-\d+\Z')


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """A topology, and where its parts are written.

    :ivar topology: as the API takes it
    :ivar stems: {resource name: path of its members' stem}
    :ivar places: {JSON path in the API's words: Node}
    """

    topology: dict
    stems: dict
    places: dict


def build(root, servers, left_out, scope):
    """Return the Definition that a template makes.

    :param root: Node of the template, as a mapping
    :param servers: {resource name: resources.Server}
    :param left_out: names of servers that there might have been; what is said
        of them, and between them and others, is left out too
    :raises: TemplateError
    """
    builder = _Builder(servers, left_out, scope)
    parts = {key: root.value[key] for key in SECTIONS if key in root.value}
    top = nodes.Node(parts, root.line, root.column, root.path)
    builder.assign(top, '')
    for name in servers:
        builder.groups.setdefault(name, ('', None))
    topology = builder.node(top, '', TOPOLOGY)
    return Definition(topology, builder.stems(), builder.places)


class _Builder:
    def __init__(self, servers, left_out, scope):
        self._servers = servers
        self._left_out = frozenset(left_out)
        self._scope = scope
        # Paths of the groups that stay, and of those that are left out.
        self._there = set()
        self._gone = set()
        # {resource name: (path of its group, Node of what is said there)}
        self.groups = {}
        self.places = {}

    def assign(self, part, path):
        """Note in which group each server is, from the top down.

        :returns: names of the servers in this group and below
        """
        part.known(SECTIONS, 'part of a group')
        named = _named(part)
        for name, said in named.items():
            if name in self._left_out:
                continue
            if name not in self._servers:
                raise said.error(f'names no server: {json.dumps(name)}')
            if name in self.groups:
                raise said.error(
                    f'has {json.dumps(name)}, which is in another group'
                )
            self.groups[name] = (path, said)
        everybody = {*named}
        for name, below in part.section('groups').items():
            if name in self._servers or '/' in name or not name:
                raise below.error(
                    'needs a name without slashes that no server has'
                )
            everybody |= self.assign(below, _path(path, name))
        # Only the API says what is wrong with a group that names nobody.
        is_gone = path and everybody and everybody <= self._left_out
        (self._gone if is_gone else self._there).add(path)
        return everybody

    def node(self, part, path, where):
        """Return the group at ``path`` as the API takes it."""
        self.places[where] = part
        below = f'{where}.groups'
        made = {
            'members': self._members(path, f'{where}.members'),
            'groups': {
                name: self.node(
                    each, _path(path, name), nodes.join(below, name)
                )
                for name, each in part.section('groups').items()
                if _path(path, name) not in self._gone
            },
            'policies': [
                each.plain()
                for each in self._list(part, 'policies', path, where)
            ],
            'relationships': [
                {**each.plain(), 'between': self._between(each, path)}
                for each in self._list(part, 'relationships', path, where)
            ],
        }
        return {key: value for key, value in made.items() if value}

    def stems(self):
        return {
            name: _path(path, name) for name, (path, _) in self.groups.items()
        }

    def _members(self, path, where):
        members = {}
        for name, (group, said) in self.groups.items():
            if group != path:
                continue
            server = self._servers[name]
            described = properties.describe(server, self._scope)
            at = nodes.join(where, name)
            self.places[at] = server.node
            for key in (*described, *server.properties.value):
                place = server.properties.value.get(key, server.properties)
                self.places[nodes.join(at, key)] = place
            if server.count is not None:
                described['count'] = server.count
            if said is not None and said.value is not None:
                least = said.known(('min_count',), 'part of a member')
                if least:
                    described['min_count'] = calls.resolve(
                        least['min_count'], self._scope
                    ).whole()
            members[name] = described
        return members

    def _list(self, part, key, path, where):
        """Return the Nodes of the policies or relationships of a group."""
        entries = part.value.get(key)
        if entries is None or entries.value is None:
            return []
        resolved = calls.resolve(entries, self._scope)
        found = [] if resolved.value is None else resolved.sequence()
        for each in found:
            each.mapping()
        if key == 'relationships':
            found = [e for e in found if not self._lacks_an_end(e, path)]
        for index, each in enumerate(found):
            self._note(each, nodes.join(f'{where}.{key}', index))
        return found

    def _note(self, node, at):
        """Note where a value and all that is in it are written."""
        self.places[at] = node
        for key, each in node.children():
            self._note(each, nodes.join(at, key))

    def _lacks_an_end(self, relationship, path):
        """Tell whether it is about a server or group that is left out."""
        return any(
            self._is_gone(end.text(), path)
            for end in relationship.required('between').sequence()
        )

    def _is_gone(self, end, path):
        """Tell whether an end, in the group at ``path``, is left out."""
        name = end.rpartition('/')[2]
        if _path(path, end) in self._there or name in self._by_name:
            return False
        # One that is counted is named with its number.
        names = {name, _NUMBER.sub('', name)}
        return _path(path, end) in self._gone or bool(names & self._left_out)

    def _between(self, relationship, path):
        """Return the ends of a relationship as paths from its group."""
        ends = relationship.required('between').sequence()
        return [self._end(each, path) for each in ends]

    def _end(self, end, path):
        """Return the path of a group, or of a server wherever it is."""
        name = end.text()
        if _path(path, name) in self._paths:
            return name
        found = self._by_name.get(name, '')
        below = f'{path}/' if path else ''
        if not found or not found.startswith(below):
            raise end.error(
                f'names no server or group in this one: {json.dumps(name)}'
            )
        return found.removeprefix(below)

    @functools.cached_property
    def _by_name(self):
        """{name of a resource or of one of its servers: path}"""
        names = {}
        for name, (group, _said) in self.groups.items():
            for each in (name, *self._servers[name].numbered()):
                names[each] = _path(group, each)
        return names

    @functools.cached_property
    def _paths(self):
        return {*self._there, *self._by_name.values()} - {''}


def _named(part):
    """Return {server name: Node of what is said of it} of a group."""
    members = part.value.get('members')
    if members is None or members.value is None:
        return {}
    if isinstance(members.value, dict):
        return members.value
    named = {}
    for each in members.sequence():
        name = each.text()
        if name in named:
            raise each.error(f'names {json.dumps(name)} twice')
        named[name] = nodes.Node(None, each.line, each.column, each.path)
    return named


def _path(*parts):
    return '/'.join(part for part in parts if part)

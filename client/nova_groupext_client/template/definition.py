# SPDX-License-Identifier: Apache-2.0
"""Conversion of a template's servers and sections to an API topology.

The sections ``members``, ``groups``, ``policies`` and ``relationships`` are
those of a topology, except that ``members`` names the servers' resources.
"""

import dataclasses
import functools
import json
import re

from nova_groupext_client.template import functions
from nova_groupext_client.template import nodes
from nova_groupext_client.template import properties

SECTIONS = ('members', 'groups', 'policies', 'relationships')
#: JSON path of a topology in the API's error messages.
TOPOLOGY = '$.vrt_group.topology'
_NUMBER = re.compile(r'-\d+\Z')


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """A topology, and the template's Node for each part of it.

    :ivar topology: topology in the form of the API
    :ivar stems: {resource name: path of its member, or of its member set}
    :ivar places: {JSON path in an API request: Node}
    """

    topology: dict
    stems: dict
    places: dict


def build(root, servers, left_out, scope):
    """Return the Definition of a template.

    :param root: Node of the template, a mapping
    :param servers: {resource name: resources.Server}
    :param left_out: names of the servers that a condition or a count of 0
        omits; entries and relationships that need them are omitted too
    :param scope: functions.Scope
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
        # Paths of the groups that are kept, and of those that are omitted.
        self._there = set()
        self._gone = set()
        # {resource name: (path of its group, Node of its entry there)}
        self.groups = {}
        self.places = {}

    def assign(self, part, path):
        """Record the group of each server, from the top down.

        :returns: names of all servers at any depth, omitted ones included
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
        # A group that names no server is kept: the API reports the error.
        is_gone = path and everybody and everybody <= self._left_out
        (self._gone if is_gone else self._there).add(path)
        return everybody

    def node(self, part, path, where):
        """Return the group at ``path`` in the form of the API."""
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
                described.update(self._said(said, path, at))
            members[name] = described
        return members

    def _said(self, said, path, where):
        """Return a member's entry in its group, in the form of the API.

        :param said: Node of the entry
        :param path: path of the group
        """
        known = said.known(('min_count', 'policies'), 'part of a member')
        made = {}
        if 'min_count' in known:
            least = functions.resolve(known['min_count'], self._scope)
            made['min_count'] = least.whole()
        if 'policies' in known:
            entries = self._list(said, 'policies', path, where)
            made['policies'] = [each.plain() for each in entries]
        return made

    def _list(self, part, key, path, where):
        """Return the Nodes of the policies or relationships of a group."""
        entries = part.value.get(key)
        if entries is None or entries.value is None:
            return []
        resolved = functions.resolve(entries, self._scope)
        found = [] if resolved.value is None else resolved.sequence()
        for each in found:
            each.mapping()
        if key == 'relationships':
            found = [e for e in found if not self._is_left_out(e, path)]
        for index, each in enumerate(found):
            self._note(each, nodes.join(f'{where}.{key}', index))
        return found

    def _note(self, node, at):
        """Record the Nodes of a value and of all values inside it."""
        self.places[at] = node
        for key, each in node.children():
            self._note(each, nodes.join(at, key))

    def _is_left_out(self, relationship, path):
        """Check whether omitted servers leave a relationship too few parts."""
        every = relationship.required('between').sequence()
        there = self._parts(relationship, path)
        return len(there) < min(2, len(every))

    def _parts(self, relationship, path):
        """Return the Nodes of the parts of it that are not omitted."""
        return [
            each
            for each in relationship.required('between').sequence()
            if not self._is_gone(each, path)
        ]

    def _is_gone(self, part, path):
        """Check whether a part, in the group at ``path``, is omitted."""
        if isinstance(part.value, dict):
            return False
        part = part.text()
        name = part.rpartition('/')[2]
        if _path(path, part) in self._there or name in self._by_name:
            return False
        # Members with a count are named with their number.
        names = {name, _NUMBER.sub('', name)}
        return _path(path, part) in self._gone or bool(names & self._left_out)

    def _between(self, relationship, path):
        """Return the parts of a relationship as paths from its group."""
        return [
            self._part(each, path) for each in self._parts(relationship, path)
        ]

    def _part(self, part, path):
        """Return the path of a subgroup, or of a server at any depth below.

        The API checks a part that belongs to another VRT group.
        """
        if isinstance(part.value, dict):
            return part.plain()
        name = part.text()
        if _path(path, name) in self._paths:
            return name
        found = self._by_name.get(name, '')
        below = f'{path}/' if path else ''
        if not found or not found.startswith(below):
            raise part.error(
                f'names no server or group in this one: {json.dumps(name)}'
            )
        return found.removeprefix(below)

    @functools.cached_property
    def _by_name(self):
        """Mapping of the name of a resource, or of its servers, to a path."""
        names = {}
        for name, (group, _said) in self.groups.items():
            for each in (name, *self._servers[name].numbered()):
                names[each] = _path(group, each)
        return names

    @functools.cached_property
    def _paths(self):
        return {*self._there, *self._by_name.values()} - {''}


def _named(part):
    """Return {server name: Node of its entry} of a group."""
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

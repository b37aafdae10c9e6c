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
_NUMBER_SUFFIX = re.compile(r'-\d+\Z')


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """A topology, and the template's Node for each part of it.

    :ivar topology: topology in the form of the API
    :ivar member_sets: {resource name: path of its member or member set}
    :ivar nodes_by_path: {JSON path in an API request: Node}
    """

    topology: dict
    member_sets: dict
    nodes_by_path: dict


def build(root, servers, omitted, scope):
    """Return the Definition of a template.

    :param root: Node of the template, a mapping
    :param servers: {resource name: resources.Server}
    :param omitted: names of the servers that a condition or a count of 0
        omits; entries and relationships that need them are omitted too
    :param scope: functions.Scope
    :raises: TemplateError
    """
    builder = _Builder(servers, omitted, scope)
    parts = {key: root.value[key] for key in SECTIONS if key in root.value}
    top = nodes.Node(parts, root.line, root.column, root.path)
    builder.assign(top, '')
    for name in servers:
        builder.groups.setdefault(name, ('', None))
    topology = builder.node(top, '', TOPOLOGY)
    return Definition(topology, builder.member_sets(), builder.nodes_by_path)


class _Builder:
    def __init__(self, servers, omitted, scope):
        self._servers = servers
        self._omitted = frozenset(omitted)
        self._scope = scope
        # Paths of the groups that are kept, and of those that are omitted.
        self._kept_paths = set()
        self._omitted_paths = set()
        # {resource name: (path of its group, Node of its entry there)}
        self.groups = {}
        self.nodes_by_path = {}

    def assign(self, part, path):
        """Record the group of each server, from the top down.

        :returns: names of all servers at any depth, omitted ones included
        """
        part.restricted_to(SECTIONS, 'part of a group')
        entries_by_name = _named_entries(part)
        for name, entry in entries_by_name.items():
            if name in self._omitted:
                continue
            if name not in self._servers:
                raise entry.error(f'names no server: {json.dumps(name)}')
            if name in self.groups:
                raise entry.error(
                    f'has {json.dumps(name)}, which is in another group'
                )
            self.groups[name] = (path, entry)
        all_names = {*entries_by_name}
        for name, below in part.section('groups').items():
            if name in self._servers or '/' in name or not name:
                raise below.error(
                    'needs a name without slashes that no server has'
                )
            all_names |= self.assign(below, _path(path, name))
        # A group that names no server is kept: the API reports the error.
        is_omitted = path and all_names and all_names <= self._omitted
        (self._omitted_paths if is_omitted else self._kept_paths).add(path)
        return all_names

    def node(self, part, path, json_path):
        """Return the group at ``path`` in the form of the API."""
        self.nodes_by_path[json_path] = part
        below = f'{json_path}.groups'
        definition = {
            'members': self._members(path, f'{json_path}.members'),
            'groups': {
                name: self.node(
                    each, _path(path, name), nodes.join(below, name)
                )
                for name, each in part.section('groups').items()
                if _path(path, name) not in self._omitted_paths
            },
            'policies': [
                each.plain()
                for each in self._list(part, 'policies', path, json_path)
            ],
            'relationships': [
                {**each.plain(), 'between': self._between(each, path)}
                for each in self._list(part, 'relationships', path, json_path)
            ],
        }
        return {key: value for key, value in definition.items() if value}

    def member_sets(self):
        return {
            name: _path(path, name) for name, (path, _) in self.groups.items()
        }

    def _members(self, path, json_path):
        members = {}
        for name, (group, entry) in self.groups.items():
            if group != path:
                continue
            server = self._servers[name]
            description = properties.describe(server, self._scope)
            at = nodes.join(json_path, name)
            self.nodes_by_path[at] = server.node
            for key in (*description, *server.properties.value):
                property_node = server.properties.value.get(
                    key, server.properties
                )
                self.nodes_by_path[nodes.join(at, key)] = property_node
            if server.count is not None:
                description['count'] = server.count
            if entry is not None and entry.value is not None:
                description.update(self._entry_of_member(entry, path, at))
            members[name] = description
        return members

    def _entry_of_member(self, entry, path, json_path):
        """Return a member's entry in its group, in the form of the API.

        :param entry: Node of the entry
        :param path: path of the group
        """
        keys = entry.restricted_to(
            ('min_count', 'policies'), 'part of a member'
        )
        definition = {}
        if 'min_count' in keys:
            minimum = functions.resolve(keys['min_count'], self._scope)
            definition['min_count'] = minimum.integer()
        if 'policies' in keys:
            entries = self._list(entry, 'policies', path, json_path)
            definition['policies'] = [each.plain() for each in entries]
        return definition

    def _list(self, part, key, path, json_path):
        """Return the Nodes of the policies or relationships of a group."""
        entries = part.value.get(key)
        if entries is None or entries.value is None:
            return []
        resolved = functions.resolve(entries, self._scope)
        resolved_entries = (
            [] if resolved.value is None else resolved.sequence()
        )
        for each in resolved_entries:
            each.mapping()
        if key == 'relationships':
            resolved_entries = [
                e
                for e in resolved_entries
                if not self._is_relationship_omitted(e, path)
            ]
        for index, each in enumerate(resolved_entries):
            self._record_nodes(each, nodes.join(f'{json_path}.{key}', index))
        return resolved_entries

    def _record_nodes(self, node, at):
        """Record the Nodes of a value and of all values inside it."""
        self.nodes_by_path[at] = node
        for key, each in node.children():
            self._record_nodes(each, nodes.join(at, key))

    def _is_relationship_omitted(self, relationship, path):
        """Check whether omitted servers leave a relationship too few parts."""
        all_parts = relationship.required('between').sequence()
        kept = self._parts(relationship, path)
        return len(kept) < min(2, len(all_parts))

    def _parts(self, relationship, path):
        """Return the Nodes of the parts of it that are not omitted."""
        return [
            each
            for each in relationship.required('between').sequence()
            if not self._is_part_omitted(each, path)
        ]

    def _is_part_omitted(self, part, path):
        """Check whether a part, in the group at ``path``, is omitted."""
        if isinstance(part.value, dict):
            return False
        part = part.text()
        name = part.rpartition('/')[2]
        if _path(path, part) in self._kept_paths or name in self._by_name:
            return False
        # Members with a count are named with their number.
        names = {name, _NUMBER_SUFFIX.sub('', name)}
        return _path(path, part) in self._omitted_paths or bool(
            names & self._omitted
        )

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
        member_path = self._by_name.get(name, '')
        below = f'{path}/' if path else ''
        if not member_path or not member_path.startswith(below):
            raise part.error(
                f'names no server or group in this one: {json.dumps(name)}'
            )
        return member_path.removeprefix(below)

    @functools.cached_property
    def _by_name(self):
        """Mapping of the name of a resource, or of its servers, to a path."""
        names = {}
        for name, (group, _entry_of_member) in self.groups.items():
            for each in (name, *self._servers[name].numbered()):
                names[each] = _path(group, each)
        return names

    @functools.cached_property
    def _paths(self):
        return {*self._kept_paths, *self._by_name.values()} - {''}


def _named_entries(part):
    """Return {server name: Node of its entry} of a group."""
    members = part.value.get('members')
    if members is None or members.value is None:
        return {}
    if isinstance(members.value, dict):
        return members.value
    entries_by_name = {}
    for each in members.sequence():
        name = each.text()
        if name in entries_by_name:
            raise each.error(f'names {json.dumps(name)} twice')
        entries_by_name[name] = nodes.Node(
            None, each.line, each.column, each.path
        )
    return entries_by_name


def _path(*parts):
    return '/'.join(part for part in parts if part)

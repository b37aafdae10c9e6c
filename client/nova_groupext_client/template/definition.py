# SPDX-License-Identifier: Apache-2.0
"""Conversion of a template's servers and sections to an API topology.

The sections ``members``, ``groups``, ``policies`` and ``relationships`` are
those of a topology, except that ``members`` names the servers' resources.
"""

import dataclasses
import functools
import json
import re
import typing

from nova_groupext_client import api_types
from nova_groupext_client.template import functions
from nova_groupext_client.template import nodes
from nova_groupext_client.template import properties
from nova_groupext_client.template import resources
from nova_groupext_client.template import scopes

SECTIONS = ('members', 'groups', 'policies', 'relationships')
#: JSON path of a topology in the API's error messages.
COUNTS: tuple[
    typing.Literal['min_count'],
    typing.Literal['max_count'],
    typing.Literal['max_surge'],
] = ('min_count', 'max_count', 'max_surge')
TOPOLOGY = '$.vrt_group.topology'
_NUMBER_SUFFIX = re.compile(r'-\d+\Z')


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """A topology, and the template's Node for each part of it.

    :ivar member_sets: {resource name: path of its member or member set}
    :ivar nodes_by_path: {JSON path in an API request: Node}
    """

    topology: api_types.Topology
    member_sets: dict[str, str]
    nodes_by_path: dict[str, nodes.Node]


class _Entry(typing.NamedTuple):
    """Group of a server by its path, and the server's entry there."""

    group: str
    node: nodes.Node | None


def build(
    root: nodes.Node, selected: resources.Resources, scope: scopes.Scope
) -> Definition:
    """Return the Definition of a template.

    Entries and relationships that need an omitted server are omitted too.

    :param root: the template, a mapping
    :raises: TemplateError
    """
    builder = _Builder(selected, scope)
    sections = root.mapping()
    top = root.of_value({k: sections[k] for k in SECTIONS if k in sections})
    builder.assign(top, '')
    for name in selected.servers:
        builder.entries.setdefault(name, _Entry('', None))
    topology = builder.node(top, '', TOPOLOGY)
    return Definition(topology, builder.member_sets(), builder.nodes_by_path)


class _Builder:
    def __init__(
        self, selected: resources.Resources, scope: scopes.Scope
    ) -> None:
        self._servers = selected.servers
        self._omitted = frozenset(selected.omitted)
        self._scope = scope
        # Paths of the groups that are kept, and of those that are omitted.
        self._kept_paths: set[str] = set()
        self._omitted_paths: set[str] = set()
        # By resource name.
        self.entries: dict[str, _Entry] = {}
        self.nodes_by_path: dict[str, nodes.Node] = {}

    def assign(self, part: nodes.Node, path: str) -> set[str]:
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
            if name in self.entries:
                raise entry.error(
                    f'has {json.dumps(name)}, which is in another group'
                )
            self.entries[name] = _Entry(path, entry)
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

    def node(
        self, part: nodes.Node, path: str, json_path: str
    ) -> api_types.Topology:
        """Return the group at ``path`` in the form of the API."""
        self.nodes_by_path[json_path] = part
        topology: api_types.Topology = {}
        if members := self._members(path, f'{json_path}.members'):
            topology['members'] = members
        if groups := self._groups(part, path, f'{json_path}.groups'):
            topology['groups'] = groups
        policies = self._list(part, 'policies', path, json_path)
        if policies:
            topology['policies'] = [each.plain_mapping() for each in policies]
        relationships = self._list(part, 'relationships', path, json_path)
        if relationships:
            topology['relationships'] = [
                self._relationship(each, path) for each in relationships
            ]
        return topology

    def member_sets(self) -> dict[str, str]:
        return {
            name: _path(entry.group, name)
            for name, entry in self.entries.items()
        }

    def _groups(
        self, part: nodes.Node, path: str, json_path: str
    ) -> dict[str, api_types.Topology]:
        return {
            name: self.node(
                each, _path(path, name), nodes.join(json_path, name)
            )
            for name, each in part.section('groups').items()
            if _path(path, name) not in self._omitted_paths
        }

    def _members(
        self, path: str, json_path: str
    ) -> dict[str, api_types.MemberDefinition]:
        members = {}
        for name, entry in self.entries.items():
            if entry.group != path:
                continue
            server = self._servers[name]
            at = nodes.join(json_path, name)
            members[name] = properties.describe(server, self._scope)
            self._record_server(server, members[name], at)
            if server.count is not None:
                members[name]['count'] = server.count
            if entry.node is not None and entry.node.value is not None:
                self._add_entry(members[name], entry.node, path, at)
        return members

    def _record_server(
        self,
        server: resources.Server,
        description: api_types.MemberDefinition,
        json_path: str,
    ) -> None:
        """Record the Nodes of a server and of its properties."""
        self.nodes_by_path[json_path] = server.node
        for key in (*description, *server.properties.mapping()):
            node = server.properties.get(key) or server.properties
            self.nodes_by_path[nodes.join(json_path, key)] = node

    def _add_entry(
        self,
        description: api_types.MemberDefinition,
        entry: nodes.Node,
        path: str,
        json_path: str,
    ) -> None:
        """Add a member's entry in its group to the member's description.

        :param path: path of the group
        """
        keys = entry.restricted_to((*COUNTS, 'policies'), 'part of a member')
        for name in COUNTS:
            if name in keys:
                number = functions.resolve(keys[name], self._scope)
                description[name] = number.integer()
        if 'policies' in keys:
            entries = self._list(entry, 'policies', path, json_path)
            description['policies'] = [
                each.plain_mapping() for each in entries
            ]

    def _list(
        self, part: nodes.Node, key: str, path: str, json_path: str
    ) -> list[nodes.Node]:
        """Return the policies or relationships of a group, all mappings."""
        entries = part.get(key)
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

    def _record_nodes(self, node: nodes.Node, at: str) -> None:
        """Record the Nodes of a value and of all values inside it."""
        self.nodes_by_path[at] = node
        for key, each in node.children():
            self._record_nodes(each, nodes.join(at, key))

    def _is_relationship_omitted(
        self, relationship: nodes.Node, path: str
    ) -> bool:
        """Check whether omitted servers leave a relationship too few parts."""
        all_parts = relationship.required('between').sequence()
        kept = self._parts(relationship, path)
        return len(kept) < min(2, len(all_parts))

    def _parts(self, relationship: nodes.Node, path: str) -> list[nodes.Node]:
        """Return the Nodes of the parts of it that are not omitted."""
        return [
            each
            for each in relationship.required('between').sequence()
            if not self._is_part_omitted(each, path)
        ]

    def _is_part_omitted(self, part: nodes.Node, path: str) -> bool:
        """Check whether a part, in the group at ``path``, is omitted."""
        if isinstance(part.value, dict):
            return False
        below = part.text()
        name = below.rpartition('/')[2]
        if _path(path, below) in self._kept_paths or name in self._by_name:
            return False
        # Members with a count are named with their number.
        names = {name, _NUMBER_SUFFIX.sub('', name)}
        return _path(path, below) in self._omitted_paths or bool(
            names & self._omitted
        )

    def _relationship(
        self, node: nodes.Node, path: str
    ) -> api_types.Relationship:
        """Return a relationship, its parts as paths from its group."""
        between = [self._part(each, path) for each in self._parts(node, path)]
        # The API checks the keys that are copied.
        return typing.cast(
            api_types.Relationship,
            {**node.plain_mapping(), 'between': between},
        )

    def _part(self, part: nodes.Node, path: str) -> api_types.Json:
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
    def _by_name(self) -> dict[str, str]:
        """Mapping of the name of a resource, or of its servers, to a path."""
        names = {}
        for name, entry in self.entries.items():
            for each in (name, *self._servers[name].paths(name)):
                names[each] = _path(entry.group, each)
        return names

    @functools.cached_property
    def _paths(self) -> set[str]:
        return {*self._kept_paths, *self._by_name.values()} - {''}


def _named_entries(part: nodes.Node) -> dict[str, nodes.Node]:
    """Return {server name: Node of its entry} of a group."""
    members = part.get('members')
    if members is None or members.value is None:
        return {}
    if isinstance(members.value, dict):
        return members.value
    entries_by_name: dict[str, nodes.Node] = {}
    for each in members.sequence():
        name = each.text()
        if name in entries_by_name:
            raise each.error(f'names {json.dumps(name)} twice')
        entries_by_name[name] = each.of_value(None)
    return entries_by_name


def _path(*parts: str) -> str:
    return '/'.join(part for part in parts if part)

# SPDX-License-Identifier: Apache-2.0
"""Selection of the servers among a template's resources."""

import dataclasses
import typing

from nova_groupext_client.template import functions
from nova_groupext_client.template import nodes
from nova_groupext_client.template import scopes

SERVER = 'OS::Nova::Server'
GROUP = 'OS::Heat::ResourceGroup'
VRT_GROUP = 'OS::Nova::VRTGroup'
#: Maximum number of servers in one template; the API's default is 1000.
MAX_SERVERS = 10_000
_INDEX = '%index%'


@dataclasses.dataclass(frozen=True, eq=False)
class Server:
    """A resource that describes a server, or a number of equal servers.

    :ivar name: name of the resource
    :ivar node: Node of the resource
    :ivar properties_path: keys from the resource to the properties of a server
    :ivar properties: Node of the properties, with functions not yet called
    :ivar count: number of servers, None for a single one
    :ivar index_var: placeholder for a server's number
    """

    name: str
    node: nodes.Node
    properties_path: tuple[str, ...]
    properties: nodes.Node
    count: int | None = None
    index_var: str = _INDEX

    def paths(self, member_set: str) -> list[str]:
        """Return the paths of the members of its member set."""
        if self.count is None:
            return [member_set]
        return [f'{member_set}-{i}' for i in range(self.count)]


class Resources(typing.NamedTuple):
    """Resources of a template by their names.

    :ivar omitted: servers that a condition or a count of 0 omits
    :ivar others: resources that are not servers
    """

    servers: dict[str, Server]
    omitted: list[str]
    others: list[str]


def read(root: nodes.Node, scope: scopes.Scope) -> Resources:
    """Return the resources of a template.

    :raises: TemplateError, also for a template whose group Heat creates
    """
    selected = Resources({}, [], [])
    resources = root.required('resources')
    for name, node in resources.mapping().items():
        server = _server(name, node, scope)
        if server is None:
            selected.others.append(name)
        elif _is_omitted(node, scope) or server.count == 0:
            selected.omitted.append(name)
        else:
            selected.servers[name] = server
            scope.spend(1, node)
    number = sum(each.count or 1 for each in selected.servers.values())
    if number > MAX_SERVERS:
        raise resources.error(f'describes more than {MAX_SERVERS} servers')
    return selected


def _server(name: str, node: nodes.Node, scope: scopes.Scope) -> Server | None:
    """Return the Server of a resource, None if it is not one."""
    kind = node.required('type').text()
    if kind == VRT_GROUP:
        raise node.error(
            'is a group that Heat creates with the stack; run "openstack '
            'stack create -t FILE NAME"'
        )
    server = None
    if kind == GROUP:
        server = _resource_group(name, node, scope)
    elif kind == SERVER:
        properties = node.required('properties')
        server = Server(name, node, ('properties',), properties)
    if server is not None:
        _check_name(server)
    return server


def _resource_group(
    name: str, node: nodes.Node, scope: scopes.Scope
) -> Server | None:
    """Return the Server of a ResourceGroup, None if it is of another type."""
    properties = node.required('properties')
    member = properties.required('resource_def')
    if member.required('type').text() != SERVER:
        return None
    count, index_var = 1, _INDEX
    count_node = properties.get('count')
    if count_node is not None:
        count = functions.resolve(count_node, scope).integer()
    index_node = properties.get('index_var')
    if index_node is not None:
        index_var = functions.resolve(index_node, scope).text()
    return Server(
        name,
        node,
        ('properties', 'resource_def', 'properties'),
        member.required('properties'),
        count,
        index_var,
    )


def _is_omitted(node: nodes.Node, scope: scopes.Scope) -> bool:
    condition = node.get('condition')
    return condition is not None and not functions.condition_is_true(
        condition, scope
    )


def _check_name(server: Server) -> None:
    if '/' in server.name or not server.name:
        raise server.node.error('needs a name without slashes')

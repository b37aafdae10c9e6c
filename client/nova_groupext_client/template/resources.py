# SPDX-License-Identifier: Apache-2.0
"""Selection of the servers among a template's resources."""

import dataclasses

from nova_groupext_client.template import functions

SERVER = 'OS::Nova::Server'
GROUP = 'OS::Heat::ResourceGroup'
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
    node: object
    properties_path: tuple[str, ...]
    properties: object
    count: int | None = None
    index_var: str = _INDEX

    def numbered(self):
        """Return {server name: number}; a single server has number None."""
        if self.count is None:
            return {self.name: None}
        return {f'{self.name}-{i}': i for i in range(self.count)}


def servers(root, scope):
    """Return the servers of a template.

    :returns: {resource name: Server}, names of servers that a condition or a
        count of 0 omits, and names of the resources that are not servers
    :raises: TemplateError
    """
    servers_by_name, omitted, others = {}, [], []
    for name, node in root.required('resources').mapping().items():
        server = _server(name, node, scope)
        if server is None:
            others.append(name)
        elif _is_omitted(node, scope) or server.count == 0:
            omitted.append(name)
        else:
            servers_by_name[name] = server
            scope.spend(1, node)
    if sum(each.count or 1 for each in servers_by_name.values()) > MAX_SERVERS:
        raise root.value['resources'].error(
            f'describes more than {MAX_SERVERS} servers'
        )
    return servers_by_name, omitted, others


def _server(name, node, scope):
    """Return the Server of a resource, None if it is not one."""
    kind = node.required('type').text()
    if kind == GROUP:
        server = _resource_group(name, node, scope)
    elif kind == SERVER:
        properties_path = ('properties',)
        server = Server(
            name, node, properties_path, node.required('properties')
        )
    else:
        return None
    if server is not None:
        _check_name(server)
    return server


def _resource_group(name, node, scope):
    """Return the Server of a ResourceGroup, None if it is of another type."""
    properties = node.required('properties')
    member = properties.required('resource_def')
    if member.required('type').text() != SERVER:
        return None
    count, index_var = 1, _INDEX
    if 'count' in properties.value:
        count = functions.resolve(properties.value['count'], scope).integer()
    if 'index_var' in properties.value:
        index_var = functions.resolve(
            properties.value['index_var'], scope
        ).text()
    return Server(
        name,
        node,
        ('properties', 'resource_def', 'properties'),
        member.required('properties'),
        count,
        index_var,
    )


def _is_omitted(node, scope):
    condition = node.value.get('condition')
    return condition is not None and not scope.condition_is_true(condition)


def _check_name(server):
    if '/' in server.name or not server.name:
        raise server.node.error('needs a name without slashes')

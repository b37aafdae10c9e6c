# SPDX-License-Identifier: Apache-2.0
"""Which of a template's resources are servers."""

import dataclasses

from nova_groupext_client.template import functions

SERVER = 'OS::Nova::Server'
GROUP = 'OS::Heat::ResourceGroup'
#: More than any group may have.
MAX_SERVERS = 10_000
_INDEX = '%index%'


@dataclasses.dataclass(frozen=True, eq=False)
class Server:
    """A resource that is a server, or a counted number of equal ones.

    :ivar name: of the resource
    :ivar node: the resource's Node
    :ivar way: the keys from the resource to the properties of a server
    :ivar properties: their Node, with functions that are still to be called
    :ivar count: how many, None for a single one
    :ivar index_var: what stands for a number among equal ones
    """

    name: str
    node: object
    way: tuple[str, ...]
    properties: object
    count: int | None = None
    index_var: str = _INDEX

    def numbered(self):
        """Return {name: number}, which is None for a single server."""
        if self.count is None:
            return {self.name: None}
        return {f'{self.name}-{i}': i for i in range(self.count)}


def servers(root, scope):
    """Return what servers there are.

    :returns: {resource name: Server}, the names of those that a condition or
        a count of 0 leaves out, and those of other resources
    :raises: TemplateError
    """
    found, left_out, others = {}, [], []
    for name, node in root.required('resources').mapping().items():
        server = _server(name, node, scope)
        if server is None:
            others.append(name)
        elif _is_left_out(node, scope) or server.count == 0:
            left_out.append(name)
        else:
            found[name] = server
            scope.spend(1, node)
    if sum(each.count or 1 for each in found.values()) > MAX_SERVERS:
        raise root.value['resources'].error(
            f'describes more than {MAX_SERVERS} servers'
        )
    return found, left_out, others


def _server(name, node, scope):
    """Return the Server that a resource is, or None."""
    kind = node.required('type').text()
    if kind == GROUP:
        server = _counted(name, node, scope)
    elif kind == SERVER:
        way = ('properties',)
        server = Server(name, node, way, node.required('properties'))
    else:
        return None
    if server is not None:
        _check(server)
    return server


def _counted(name, node, scope):
    """Return the Server of a group of resources, None if it has others."""
    properties = node.required('properties')
    member = properties.required('resource_def')
    if member.required('type').text() != SERVER:
        return None
    count, index_var = 1, _INDEX
    if 'count' in properties.value:
        count = functions.resolve(properties.value['count'], scope).whole()
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


def _is_left_out(node, scope):
    condition = node.value.get('condition')
    return condition is not None and not scope.holds(condition)


def _check(server):
    if '/' in server.name or not server.name:
        raise server.node.error('needs a name without slashes')

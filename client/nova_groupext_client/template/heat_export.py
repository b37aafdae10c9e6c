# SPDX-License-Identifier: Apache-2.0
"""Conversion of a template with groups to a template for Heat.

The module edits PyYAML's nodes, so functions and multi-line texts keep their
form. Aliased properties of servers are written out, and comments are lost.
"""

import copy

import yaml

from nova_groupext_client import hints
from nova_groupext_client.template import definition

_WIDTH = 10_000


def emit(root, servers, member_sets, group_id):
    """Return the template without group sections and with hints.

    :param root: Node of the template
    :param servers: iterable of resources.Server
    :param member_sets: {resource name: path of its member or member set}
    :param group_id: id for the hints
    :returns: YAML
    """
    resources = root.value['resources'].source
    for server in servers:
        path = member_sets[server.name]
        if server.count is not None:
            path = f'{path}-{server.index_var}'
        resource = _with_hints(
            server, server.node, server.properties_path, group_id, path
        )
        resources = _with_value(resources, server.name, resource)
    document = _with_value(root.source, 'resources', resources)
    document = _without(document, definition.SECTIONS)
    return yaml.serialize(
        document, Dumper=yaml.SafeDumper, allow_unicode=True, width=_WIDTH
    )


def _with_hints(server, node, properties_path, group_id, path):
    """Return a resource with hints in its properties, as a PyYAML node.

    :param properties_path: keys from ``node`` to the properties
    """
    if properties_path:
        key, *rest = properties_path
        below = _with_hints(server, node.value[key], rest, group_id, path)
        return _with_value(node.source, key, below)
    hints_node = node.value.get('scheduler_hints')
    source = hints_node and hints_node.value and hints_node.source
    own_hints = {hints.GROUP: group_id, hints.MEMBER: path}
    # Aliases may make two servers share these nodes.
    properties = copy.deepcopy(node.source)
    source = copy.deepcopy(source) or _to_node({})
    for name, value in own_hints.items():
        source = _with_value(source, name, _to_node(value))
    return _with_value(properties, 'scheduler_hints', source)


def _with_value(mapping, key, value):
    """Return a mapping with a value replaced, or appended if it is new."""
    pairs = list(mapping.value)
    keys = [name.value for name, _value in pairs]
    if key in keys:
        index = keys.index(key)
        pairs[index] = (pairs[index][0], value)
    else:
        pairs.append((_to_node(key), value))
    return _copy_mapping(mapping, pairs)


def _without(mapping, keys):
    pairs = [pair for pair in mapping.value if pair[0].value not in keys]
    return _copy_mapping(mapping, pairs)


def _copy_mapping(mapping, pairs):
    # An empty mapping may be written as {}; its new items get block style.
    flow = bool(mapping.value) and mapping.flow_style
    return yaml.MappingNode(mapping.tag, pairs, flow_style=flow)


def _to_node(value):
    return yaml.SafeDumper('').represent_data(value)

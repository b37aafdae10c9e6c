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


def emit(root, servers, stems, group_id):
    """Return the template without group sections and with hints.

    :param root: Node of the template
    :param servers: iterable of resources.Server
    :param stems: {resource name: path of its member, or of its member set}
    :param group_id: id for the hints
    :returns: YAML
    """
    resources = root.value['resources'].source
    for server in servers:
        path = stems[server.name]
        if server.count is not None:
            path = f'{path}-{server.index_var}'
        resource = _with_hints(server, server.node, server.way, group_id, path)
        resources = _replaced(resources, server.name, resource)
    document = _replaced(root.source, 'resources', resources)
    document = _without(document, definition.SECTIONS)
    return yaml.serialize(
        document, Dumper=yaml.SafeDumper, allow_unicode=True, width=_WIDTH
    )


def _with_hints(server, node, way, group_id, path):
    """Return a resource with hints in its properties, as a PyYAML node.

    :param way: keys from ``node`` to the properties
    """
    if way:
        key, *rest = way
        below = _with_hints(server, node.value[key], rest, group_id, path)
        return _replaced(node.source, key, below)
    given = node.value.get('scheduler_hints')
    source = given and given.value and given.source
    ours = {hints.GROUP: group_id, hints.MEMBER: path}
    # Aliases may make two servers share these nodes.
    own = copy.deepcopy(node.source)
    source = copy.deepcopy(source) or _represented({})
    for name, value in ours.items():
        source = _replaced(source, name, _represented(value))
    return _replaced(own, 'scheduler_hints', source)


def _replaced(mapping, key, value):
    """Return a mapping with a value replaced, or appended if it is new."""
    pairs = list(mapping.value)
    keys = [name.value for name, _value in pairs]
    if key in keys:
        index = keys.index(key)
        pairs[index] = (pairs[index][0], value)
    else:
        pairs.append((_represented(key), value))
    return _like(mapping, pairs)


def _without(mapping, keys):
    pairs = [pair for pair in mapping.value if pair[0].value not in keys]
    return _like(mapping, pairs)


def _like(mapping, pairs):
    # An empty mapping may be written as {}; its new items get block style.
    flow = bool(mapping.value) and mapping.flow_style
    return yaml.MappingNode(mapping.tag, pairs, flow_style=flow)


def _represented(value):
    return yaml.SafeDumper('').represent_data(value)

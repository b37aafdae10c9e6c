# SPDX-License-Identifier: Apache-2.0
"""From a template with groups to the one that Heat takes.

The YAML is changed as PyYAML has read it, so that functions and texts over
several lines stay what they are. What servers share by aliases is written
out, and comments are lost.
"""

import copy

import yaml

from nova_groupext_client import hints
from nova_groupext_client.template import definition

_WIDTH = 10_000


def emit(root, servers, stems, group_id):
    """Return a template without our sections, whose servers have hints.

    :param root: Node of the template
    :param servers: resources.Server of each resource that is one
    :param stems: {resource name: path of its members' stem}
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
    """Return a resource whose properties have hints, as a PyYAML node.

    :param way: keys that lead from ``node`` to the properties
    """
    if way:
        key, *rest = way
        below = _with_hints(server, node.value[key], rest, group_id, path)
        return _replaced(node.source, key, below)
    given = node.value.get('scheduler_hints')
    source = given and given.value and given.source
    ours = {hints.GROUP: group_id, hints.MEMBER: path}
    # Two servers may share what they are written with.
    own = copy.deepcopy(node.source)
    source = copy.deepcopy(source) or _represented({})
    for name, value in ours.items():
        source = _replaced(source, name, _represented(value))
    return _replaced(own, 'scheduler_hints', source)


def _replaced(mapping, key, value):
    """Return a mapping with another value; it comes last if it is new."""
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
    # An empty mapping may have been written {}; a full one goes below.
    flow = bool(mapping.value) and mapping.flow_style
    return yaml.MappingNode(mapping.tag, pairs, flow_style=flow)


def _represented(value):
    return yaml.SafeDumper('').represent_data(value)

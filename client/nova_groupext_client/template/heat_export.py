# SPDX-License-Identifier: Apache-2.0
"""Conversion of a template with groups to a template for Heat.

The module edits PyYAML's nodes, so functions and multi-line texts keep their
form. Aliased properties of servers are written out, and comments are lost.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import copy
import typing

import yaml

from nova_groupext_client import hints
from nova_groupext_client.template import definition
from nova_groupext_client.template import nodes
from nova_groupext_client.template import resources

_Pair: typing.TypeAlias = tuple[yaml.Node, yaml.Node]
_WIDTH = 10_000


def emit(
    root: nodes.Node,
    servers: Iterable[resources.Server],
    member_sets: Mapping[str, str],
    group_id: str,
) -> str:
    """Return the template, as YAML, without group sections and with hints.

    :param root: the template
    :param member_sets: {resource name: path of its member or member set}
    :param group_id: id for the hints
    """
    section = _source(root.required('resources'))
    for server in servers:
        path = member_sets[server.name]
        if server.count is not None:
            path = f'{path}-{server.index_var}'
        own_hints = {hints.GROUP: group_id, hints.MEMBER: path}
        resource = _with_hints(server.node, server.properties_path, own_hints)
        section = _with_value(section, server.name, resource)
    document = _with_value(_source(root), 'resources', section)
    document = _without(document, definition.SECTIONS)
    return yaml.serialize(
        document, Dumper=yaml.SafeDumper, allow_unicode=True, width=_WIDTH
    )


def _with_hints(
    node: nodes.Node, properties_path: Collection[str], own: Mapping[str, str]
) -> yaml.MappingNode:
    """Return a resource with hints in its properties.

    :param properties_path: keys from ``node`` to the properties
    :param own: {hint: its value}
    """
    if properties_path:
        key, *rest = properties_path
        below = _with_hints(node.required(key), rest, own)
        return _with_value(_source(node), key, below)
    hints_node = node.get('scheduler_hints')
    # Aliases may make two servers share these nodes.
    properties = copy.deepcopy(_source(node))
    source = yaml.MappingNode(properties.tag, [])
    if hints_node is not None and hints_node.value:
        source = copy.deepcopy(_source(hints_node))
    for name, value in own.items():
        source = _with_value(source, name, _text(value))
    return _with_value(properties, 'scheduler_hints', source)


def _source(node: nodes.Node) -> yaml.MappingNode:
    """Return the mapping of the text that a Node was read from."""
    if not isinstance(node.source, yaml.MappingNode):
        raise node.error('must be a mapping')
    return node.source


def _with_value(
    mapping: yaml.MappingNode, key: str, value: yaml.Node
) -> yaml.MappingNode:
    """Return a mapping with a value replaced, or appended if it is new."""
    pairs: list[_Pair] = list(mapping.value)
    keys = [name.value for name, _value in pairs]
    if key in keys:
        index = keys.index(key)
        pairs[index] = (pairs[index][0], value)
    else:
        pairs.append((_text(key), value))
    return _copy_mapping(mapping, pairs)


def _without(
    mapping: yaml.MappingNode, keys: Collection[str]
) -> yaml.MappingNode:
    pairs = [pair for pair in mapping.value if pair[0].value not in keys]
    return _copy_mapping(mapping, pairs)


def _copy_mapping(
    mapping: yaml.MappingNode, pairs: list[_Pair]
) -> yaml.MappingNode:
    # An empty mapping may be written as {}; its new items get block style.
    flow = bool(mapping.value) and mapping.flow_style
    return yaml.MappingNode(mapping.tag, pairs, flow_style=flow)


def _text(value: str) -> yaml.Node:
    return yaml.representer.SafeRepresenter().represent_data(value)

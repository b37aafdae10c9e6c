# SPDX-License-Identifier: Apache-2.0
"""A group in the form of an API request, read from JSON or YAML."""

from collections.abc import Iterator

from nova_groupext_client import api_types
from nova_groupext_client.template import definition
from nova_groupext_client.template import error_locations
from nova_groupext_client.template import nodes
from nova_groupext_client.template import reading

_GROUP = '$.vrt_group'
# Keys of a request that creates or revises a group.
_KEYS = (
    'name',
    'description',
    'hold',
    'expires_in',
    'client_token',
    'topology',
    'boot',
    'generation',
    'keep_server',
)


class DefinitionBody(error_locations.LocatedFile):
    """A group definition in the form of an API request.

    :ivar definition: {"topology": {...}} with any other keys of the file,
        such as ``name``
    """

    def __init__(self, node: nodes.Node, path: str) -> None:
        super().__init__(dict(_nodes_by_path(node, path)), path)
        self.definition = node.plain_mapping()
        if path == definition.TOPOLOGY:
            self.definition = {'topology': self.definition}


def load_definition(text: str | bytes) -> DefinitionBody:
    """Read a group in the form of an API request.

    The text is the whole body of a request, the value of its ``vrt_group``,
    or a topology alone.

    :param text: bytes are in UTF-8
    :raises: TemplateError, and nothing else
    """
    node = reading.read(text)
    group = node.get('vrt_group')
    if group is not None:
        node.restricted_to(('vrt_group',), 'part of a body')
        node = group
    keys = node.mapping().keys()
    if reading.VERSION in keys:
        raise node.error(
            'is a Heat template, not a group in the form of a request '
            '(on the command line: --template, not --definition)'
        )
    if keys & {*_KEYS}:
        if 'topology' not in keys and keys & {*definition.SECTIONS}:
            raise node.error(
                'needs the key topology; '
                f'{", ".join(definition.SECTIONS)} belong below it'
            )
        node.restricted_to(_KEYS, 'part of a group')
        node.required('topology').mapping()
        return DefinitionBody(node, _GROUP)
    node.restricted_to(definition.SECTIONS, 'part of a topology')
    return DefinitionBody(node, definition.TOPOLOGY)


def load_values(text: str | bytes) -> api_types.Object:
    """Read a mapping with any content.

    :param text: bytes are in UTF-8
    :raises: TemplateError, and nothing else
    """
    return reading.read(text).plain_mapping()


def _nodes_by_path(
    node: nodes.Node, path: str
) -> Iterator[tuple[str, nodes.Node]]:
    """Yield pairs of a JSON path in a request and the Node at it."""
    yield path, node
    for key, each in node.children():
        yield from _nodes_by_path(each, nodes.join(path, key))

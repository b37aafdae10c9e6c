# SPDX-License-Identifier: Apache-2.0
"""A group in the form of an API request, read from JSON or YAML."""

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


class DefinitionBody:
    """A group definition in the form of an API request.

    :ivar definition: {"topology": {...}} with any other keys of the file,
        such as ``name``
    """

    def __init__(self, node, path):
        self._nodes_by_path = dict(_nodes_by_path(node, path))
        self._root_path = path
        self.definition = node.plain()
        if path == definition.TOPOLOGY:
            self.definition = {'topology': self.definition}

    def locate_error(self, message):
        """Return the TemplateError for an error message of the API.

        :param message: text of a 400, ``$.vrt_group.topology.members...: ...``
        :returns: TemplateError, None if the message is not about the file
        """
        return error_locations.locate_error(
            message, self._nodes_by_path, self._root_path
        )


def load_definition(text):
    """Read a group in the form of an API request.

    The text is the whole body of a request, the value of its ``vrt_group``,
    or a topology alone.

    :param text: str, or bytes in UTF-8
    :returns: Given
    :raises: TemplateError, and nothing else
    """
    node = reading.read(text)
    node.mapping()
    if 'vrt_group' in node.value:
        node.restricted_to(('vrt_group',), 'part of a body')
        node = node.value['vrt_group']
    keys = node.mapping().keys()
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


def load_values(text):
    """Read a mapping with any content.

    :param text: str, or bytes in UTF-8
    :returns: dict
    :raises: TemplateError, and nothing else
    """
    node = reading.read(text)
    node.mapping()
    return node.plain()


def _nodes_by_path(node, path):
    """Yield pairs of a JSON path in a request and the Node at it."""
    yield path, node
    for key, each in node.children():
        yield from _nodes_by_path(each, nodes.join(path, key))

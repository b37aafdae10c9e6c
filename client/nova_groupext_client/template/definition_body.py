# SPDX-License-Identifier: Apache-2.0
"""A group in the form of an API request, read from JSON or YAML."""

from nova_groupext_client.template import answers
from nova_groupext_client.template import definition
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


class Given:
    """A group definition in the form of an API request.

    :ivar definition: {"topology": {...}} with any other keys of the file,
        such as ``name``
    """

    def __init__(self, node, path):
        self._places = dict(_places(node, path))
        self._top = path
        self.definition = node.plain()
        if path == definition.TOPOLOGY:
            self.definition = {'topology': self.definition}

    def located(self, answer):
        """Return the TemplateError for an error message of the API.

        :param answer: text of a 400, ``$.vrt_group.topology.members...: ...``
        :returns: TemplateError, None if the message is not about the file
        """
        return answers.located(answer, self._places, self._top)


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
        node.known(('vrt_group',), 'part of a body')
        node = node.value['vrt_group']
    if _is_group(node.mapping()):
        node.known(_KEYS, 'part of a group')
        node.required('topology').mapping()
        return Given(node, _GROUP)
    node.known(definition.SECTIONS, 'part of a topology')
    return Given(node, definition.TOPOLOGY)


def load_values(text):
    """Read a mapping with any content.

    :param text: str, or bytes in UTF-8
    :returns: dict
    :raises: TemplateError, and nothing else
    """
    node = reading.read(text)
    node.mapping()
    return node.plain()


def _is_group(value):
    """Check whether a mapping is a group rather than a topology alone.

    A misspelt ``topology`` key does not make a group a topology.
    """
    keys = value.keys()
    return 'topology' in keys or bool(
        keys & {*_KEYS} and not keys & {*definition.SECTIONS}
    )


def _places(node, path):
    """Yield pairs of a JSON path in a request and the Node at it."""
    yield path, node
    for key, each in node.children():
        yield from _places(each, nodes.join(path, key))

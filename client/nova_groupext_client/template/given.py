# SPDX-License-Identifier: Apache-2.0
"""A group in the API's own form, as JSON or YAML."""

from nova_groupext_client.template import answers
from nova_groupext_client.template import definition
from nova_groupext_client.template import nodes
from nova_groupext_client.template import reading

_GROUP = '$.vrt_group'
# What a request may say of a new group, or of one that is revised.
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
    """A group that is described as a request describes it.

    :ivar definition: {"topology": {...}}, with ``name`` and so on if they are
        given
    """

    def __init__(self, node, path):
        self._places = dict(_places(node, path))
        self._top = path
        self.definition = node.plain()
        if path == definition.TOPOLOGY:
            self.definition = {'topology': self.definition}

    def located(self, answer):
        """Return the TemplateError that an answer of the API stands for.

        :param answer: text of a 400, ``$.vrt_group.topology.members...: ...``
        :returns: None if it is about no part of the file
        """
        return answers.located(answer, self._places, self._top)


def load_definition(text):
    """Read a group in the API's own form.

    It may be the whole body of a request, or what stands under its
    ``vrt_group``, or a topology alone.

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


def _is_group(value):
    """Tell whether a mapping is meant as a group, not as a topology alone.

    Its topology may be missing since it is misspelt.
    """
    keys = value.keys()
    return 'topology' in keys or bool(
        keys & {*_KEYS} and not keys & {*definition.SECTIONS}
    )


def _places(node, path):
    """Yield pairs of a JSON path in a request and the Node that is there."""
    yield path, node
    for key, each in node.children():
        yield from _places(each, nodes.join(path, key))

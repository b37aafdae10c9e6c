# SPDX-License-Identifier: Apache-2.0
"""Values that know the line they come from."""

import dataclasses
import json
import re

from nova_groupext_client.template import errors

#: No number of any use is as large.
LARGE = 2**63

_PLAIN_KEY = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*\Z', re.ASCII)
_TRUE = ('true', 't', 'on', 'yes', 'y', '1')
_FALSE = ('false', 'f', 'off', 'no', 'n', '0')


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """A value of a template.

    :ivar value: None, bool, int, float, str, list of Node, or dict of str to
        Node
    :ivar line: 1-based: where its key stands, or its own place in a list
    :ivar column: 1-based
    :ivar path: JSON path, ``$.resources.web``
    :ivar source: what PyYAML has read; None of what a function returned
    """

    value: object
    line: int
    column: int
    path: str
    source: object = None

    def error(self, reason):
        """Return the TemplateError that is to be raised."""
        return errors.TemplateError(reason, self.line, self.column, self.path)

    def child(self, key, value):
        """Return a Node for a value that was found or made in this one."""
        return Node(value, self.line, self.column, join(self.path, key))

    def children(self):
        """Return pairs of a key or index and a Node."""
        if isinstance(self.value, dict):
            return self.value.items()
        return enumerate(self.value) if isinstance(self.value, list) else ()

    def mapping(self):
        if not isinstance(self.value, dict):
            raise self.error('must be a mapping')
        return self.value

    def sequence(self):
        if not isinstance(self.value, list):
            raise self.error('must be a list')
        return self.value

    def text(self, least=1):
        """Return a text of at least so many characters, or a number as one."""
        value = self.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or len(value) < least:
            raise self.error('must be a text')
        return value

    def whole(self, least=0):
        """Return a whole number, given as one or as a text."""
        value = self.number()
        if value != int(value) or value < least:
            raise self.error(f'must be a whole number of at least {least}')
        return int(value)

    def number(self):
        value = self.value
        if isinstance(value, str):
            value = _number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error('must be a number')
        return value

    def flag(self):
        """Return a boolean, given as one or in one of Heat's words."""
        word = str(self.value).strip().lower()
        if word not in _TRUE + _FALSE:
            raise self.error('must be true or false')
        return word in _TRUE

    def plain(self):
        """Return the value as JSON has it."""
        if isinstance(self.value, dict):
            return {key: each.plain() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        return self.value

    def known(self, keys, what):
        """Return the mapping, refusing keys that are not among ``keys``."""
        for key, each in self.mapping().items():
            if key not in keys:
                raise each.error(f'is no {what}; there are {", ".join(keys)}')
        return self.value

    def section(self, key):
        """Return the mapping that stands under a key, {} for nothing."""
        node = self.value.get(key)
        if node is None or node.value is None:
            return {}
        return node.mapping()

    def required(self, key):
        """Return what stands under a key that has to be there."""
        if key not in self.mapping():
            raise self.error(f'needs {key}')
        return self.value[key]


def join(path, key):
    """Return the JSON path of a key or an index below another path."""
    if isinstance(key, int):
        return f'{path}[{key}]'
    if _PLAIN_KEY.match(key):
        return f'{path}.{key}'
    return f'{path}[{json.dumps(key)}]'


def flaw(text):
    """Return what is wrong with the characters of a text, None if nothing."""
    if '\0' in text:
        return 'has a NUL'
    try:
        text.encode()
    except UnicodeEncodeError:
        return 'has half a character'
    return None


def _number(text):
    """Return the number that a text is, None if it is none."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if abs(value) < LARGE else None
    return None

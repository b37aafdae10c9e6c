# SPDX-License-Identifier: Apache-2.0
"""Values of a template with their position in its text."""

import dataclasses
import json
import re

from nova_groupext_client.template import errors

#: Exclusive upper bound of the absolute value of a number.
LARGE = 2**63

_PLAIN_KEY = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*\Z', re.ASCII)
_TRUE = ('true', 't', 'on', 'yes', 'y', '1')
_FALSE = ('false', 'f', 'off', 'no', 'n', '0')


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """A value of a template, and its position.

    :ivar value: None, bool, int, float, str, list of Node, or dict of str to
        Node
    :ivar line: 1-based line of its key; in a list, of the value
    :ivar column: 1-based
    :ivar path: JSON path, ``$.resources.web``
    :ivar source: PyYAML node; None for a value not in the template's text
    """

    value: object
    line: int
    column: int
    path: str
    source: object = None

    def error(self, reason):
        """Return a TemplateError with the position of this value."""
        return errors.TemplateError(reason, self.line, self.column, self.path)

    def child(self, key, value):
        """Return a child Node with the position of this one."""
        return Node(value, self.line, self.column, join(self.path, key))

    def children(self):
        """Return pairs of a key or index and a Node; none for a scalar."""
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

    def text(self, minimum=1):
        """Return a text with ``minimum`` characters; convert numbers."""
        value = self.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or len(value) < minimum:
            raise self.error('must be a string')
        return value

    def integer(self, minimum=0):
        """Return an integer of at least ``minimum``, converted from text."""
        value = self.number()
        if value != int(value) or value < minimum:
            raise self.error(f'must be a whole number of at least {minimum}')
        return int(value)

    def number(self):
        value = self.value
        if isinstance(value, str):
            value = _number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error('must be a number')
        return value

    def boolean(self):
        """Return a boolean, given as one or as one of Heat's words for it."""
        word = str(self.value).strip().lower()
        if word not in _TRUE + _FALSE:
            raise self.error('must be true or false')
        return word in _TRUE

    def plain(self):
        """Return the value with plain values in place of Nodes."""
        if isinstance(self.value, dict):
            return {key: each.plain() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        return self.value

    def restricted_to(self, keys, what):
        """Return the mapping; raise TemplateError for other keys."""
        for key, each in self.mapping().items():
            if key not in keys:
                raise each.error(
                    f'is not a {what}; allowed: {", ".join(keys)}'
                )
        return self.value

    def section(self, key):
        """Return the mapping under a key, {} if it is missing or null."""
        node = self.value.get(key)
        if node is None or node.value is None:
            return {}
        return node.mapping()

    def required(self, key):
        """Return the Node under a required key."""
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


def text_error(text):
    """Return an error for a NUL or an unpaired surrogate, None without."""
    if '\0' in text:
        return 'contains a NUL character'
    try:
        text.encode()
    except UnicodeEncodeError:
        return 'contains an unpaired surrogate'
    return None


def _number(text):
    """Return a text as a number, None if it is none or too large."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if abs(value) < LARGE else None
    return None

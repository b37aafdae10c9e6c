# SPDX-License-Identifier: Apache-2.0
"""Values of a template with their position in its text."""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import json
import re
import typing

import yaml

from nova_groupext_client import api_types
from nova_groupext_client.template import errors

Value: typing.TypeAlias = (
    'bool | int | float | str | list[Node] | dict[str, Node] | None'
)

#: Exclusive upper bound of the absolute value of a number.
LARGE = 2**63

_PLAIN_KEY = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*\Z', re.ASCII)
_TRUE = ('true', 't', 'on', 'yes', 'y', '1')
_FALSE = ('false', 'f', 'off', 'no', 'n', '0')


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """A value of a template, and its position.

    :ivar line: 1-based line of its key; in a list, of the value
    :ivar column: 1-based
    :ivar path: JSON path, ``$.resources.web``
    :ivar source: PyYAML node; None for a value not in the template's text
    """

    value: Value
    line: int
    column: int
    path: str
    source: yaml.Node | None = None

    def error(self, reason: str) -> errors.TemplateError:
        """Return a TemplateError with the position of this value."""
        return errors.TemplateError(reason, self.line, self.column, self.path)

    def of_plain(self, value: api_types.Json) -> 'Node':
        """Return a plain value as a Node, all of it with this position."""
        if isinstance(value, dict):
            return self.of_value(
                {k: self.of_plain(v) for k, v in value.items()}
            )
        if isinstance(value, list):
            return self.of_value([self.of_plain(each) for each in value])
        return self.of_value(value)

    def of_value(self, value: Value) -> 'Node':
        """Return a value that is not in the text, with this position."""
        return Node(value, self.line, self.column, self.path)

    def child(self, key: str | int) -> 'Node':
        """Return an empty child Node with this position."""
        return Node(None, self.line, self.column, join(self.path, key))

    def children(self) -> Iterable[tuple[str | int, 'Node']]:
        """Return pairs of a key or index and a Node; none for a scalar."""
        if isinstance(self.value, dict):
            return self.value.items()
        return enumerate(self.value) if isinstance(self.value, list) else ()

    def mapping(self) -> dict[str, 'Node']:
        if not isinstance(self.value, dict):
            raise self.error('must be a mapping')
        return self.value

    def sequence(self) -> list['Node']:
        if not isinstance(self.value, list):
            raise self.error('must be a list')
        return self.value

    def text(self, minimum: int = 1) -> str:
        """Return a text with ``minimum`` characters; convert numbers."""
        value = self.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or len(value) < minimum:
            raise self.error('must be a string')
        return value

    def integer(self, minimum: int = 0) -> int:
        """Return an integer of at least ``minimum``, converted from text."""
        value = self.number()
        if value != int(value) or value < minimum:
            raise self.error(f'must be a whole number of at least {minimum}')
        return int(value)

    def number(self) -> int | float:
        value = self.value
        if isinstance(value, str):
            value = _number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error('must be a number')
        return value

    def boolean(self) -> bool:
        """Return a boolean, given as one or as one of Heat's words for it."""
        word = str(self.value).strip().lower()
        if word not in _TRUE + _FALSE:
            raise self.error('must be true or false')
        return word in _TRUE

    def plain(self) -> api_types.Json:
        """Return the value with plain values in place of Nodes."""
        if isinstance(self.value, dict):
            return self.plain_mapping()
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        return self.value

    def plain_mapping(self) -> api_types.Object:
        return {key: each.plain() for key, each in self.mapping().items()}

    def restricted_to(
        self, keys: Collection[str], what: str
    ) -> dict[str, 'Node']:
        """Return the mapping; raise TemplateError for other keys."""
        mapping = self.mapping()
        for key, each in mapping.items():
            if key not in keys:
                raise each.error(
                    f'is not a {what}; allowed: {", ".join(keys)}'
                )
        return mapping

    def get(self, key: str) -> 'Node | None':
        """Return the Node under a key of the mapping, None if missing."""
        return self.mapping().get(key)

    def section(self, key: str) -> dict[str, 'Node']:
        """Return the mapping under a key, {} if it is missing or null."""
        node = self.get(key)
        if node is None or node.value is None:
            return {}
        return node.mapping()

    def required(self, key: str) -> 'Node':
        """Return the Node under a required key."""
        node = self.get(key)
        if node is None:
            raise self.error(f'needs {key}')
        return node


def join(path: str, key: str | int) -> str:
    """Return the JSON path of a key or an index below another path."""
    if isinstance(key, int):
        return f'{path}[{key}]'
    if _PLAIN_KEY.match(key):
        return f'{path}.{key}'
    return f'{path}[{json.dumps(key)}]'


def text_error(text: str) -> str | None:
    """Return an error for a NUL or an unpaired surrogate, None without."""
    if '\0' in text:
        return 'contains a NUL character'
    try:
        text.encode()
    except UnicodeEncodeError:
        return 'contains an unpaired surrogate'
    return None


def _number(text: str) -> int | float | None:
    """Return a text as a number, None if it is none or too large."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if abs(value) < LARGE else None
    return None

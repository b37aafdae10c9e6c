# SPDX-License-Identifier: Apache-2.0
"""Reader of YAML text into Nodes, with limits against hostile input.

PyYAML takes 50 microseconds for each value of a text, so their number is
limited. Aliases and merge keys are expanded, so a short text may make very
many values; their number, their depth and the length of their paths are
limited.
"""

from collections.abc import Callable
import typing

import yaml

from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes

#: Key that makes a text a Heat template.
VERSION = 'heat_template_version'

#: Characters; Heat's default limit.
MAX_LENGTH = 512 * 1024
MAX_DEPTH = 64
#: Values of the text itself, keys included.
MAX_TEXT_NODES = 40_000
#: Values with aliases expanded; one with a long path counts several times.
MAX_NODES = 200_000
PATH_UNIT = 256
#: Characters of a number; the time to parse one grows quadratically.
MAX_DIGITS = 400

_TAG = 'tag:yaml.org,2002:'
# Like Heat, keep dates as texts.
_TEXTS = ('str', 'timestamp', 'value')
_NUMBERS = ('int', 'float')
_Construct: typing.TypeAlias = Callable[
    [yaml.SafeLoader, yaml.ScalarNode], bool | int | float | None
]
_CONSTRUCT: dict[str, _Construct] = {
    'null': yaml.SafeLoader.construct_yaml_null,
    'bool': yaml.SafeLoader.construct_yaml_bool,
    'int': yaml.SafeLoader.construct_yaml_int,
    'float': yaml.SafeLoader.construct_yaml_float,
}


class _Item(typing.NamedTuple):
    """A value of a mapping, and the position of its key."""

    mark: yaml.Mark
    value: yaml.Node


def read(text: str | bytes) -> nodes.Node:
    """Return the Node of a YAML document.

    :param text: bytes are in UTF-8
    :raises: TemplateError, for any error in the text
    """
    if isinstance(text, bytes):
        text = _decoded(text)
    if len(text) > MAX_LENGTH:
        raise errors.TemplateError(f'has more than {MAX_LENGTH} characters')
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.reader.ReaderError as exc:
        reason = 'has a character that YAML does not allow'
        raise _misread(text, exc.position, reason) from exc
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark or loader.get_mark()
        reason = ', '.join(filter(None, (exc.context, exc.problem)))
        raise _at(mark, f'is not YAML: {reason}') from exc
    except (ValueError, IndexError, OverflowError) as exc:
        # PyYAML does not check the range of a code point after "\U".
        mark = loader.get_mark()
        raise _at(mark, f'is not YAML: {exc}') from exc
    if root is None:
        raise errors.TemplateError('is empty')
    return _Reader(loader).node(root, root.start_mark, '$', 0)


class _Loader(yaml.SafeLoader):
    """YAML loader that limits depth and number of values while it reads."""

    _depth = 0
    _count = 0

    def compose_node(
        self, parent: yaml.Node | None, index: int
    ) -> yaml.Node | None:
        self._count += 1
        if self._count > MAX_TEXT_NODES:
            raise self._error(f'has more than {MAX_TEXT_NODES} values')
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f'is nested more than {MAX_DEPTH} levels deep')
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _error(self, reason: str) -> errors.TemplateError:
        # PyYAML's stubs do not annotate this method.
        event = self.peek_event()  # type: ignore[no-untyped-call]
        return _at(event.start_mark, reason)


class _Reader:
    """Converter of PyYAML nodes to Nodes, with a limit on their number."""

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self._count = 0

    def node(
        self, source: yaml.Node, mark: yaml.Mark, path: str, depth: int
    ) -> nodes.Node:
        """Return the Node of a PyYAML node, with the position ``mark``."""
        self._spend(1 + len(path) // PATH_UNIT, mark, path)
        if depth > MAX_DEPTH:
            raise _at(
                mark, f'is nested more than {MAX_DEPTH} levels deep', path
            )
        kind = source.tag.removeprefix(_TAG)
        value: nodes.Value
        if isinstance(source, yaml.MappingNode) and kind == 'map':
            value = {
                key: self.node(
                    item.value, item.mark, nodes.join(path, key), depth + 1
                )
                for key, item in self._items(source, path, 0).items()
            }
        elif isinstance(source, yaml.SequenceNode) and kind == 'seq':
            value = [
                self.node(
                    each, each.start_mark, nodes.join(path, i), depth + 1
                )
                for i, each in enumerate(source.value)
            ]
        else:
            value = self._scalar(source, kind, mark, path)
        return nodes.Node(value, mark.line + 1, mark.column + 1, path, source)

    def _items(
        self, source: yaml.MappingNode, path: str, depth: int
    ) -> dict[str, _Item]:
        if depth > MAX_DEPTH:
            raise _at(source.start_mark, 'merges itself', path)
        own: dict[str, _Item] = {}
        merged: dict[str, _Item] = {}
        for key_node, value in source.value:
            mark = key_node.start_mark
            if key_node.tag == f'{_TAG}merge':
                for each in _merged(value, mark, path):
                    items = self._items(each, path, depth + 1)
                    self._spend(1 + len(items) + len(merged), mark, path)
                    merged = {**items, **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise _at(mark, 'has a key that is not a string', path)
            key = _text(key_node, path)
            if key in own:
                raise _at(mark, 'is repeated', nodes.join(path, key))
            own[key] = _Item(mark, value)
        return {**merged, **own}

    def _spend(self, count: int, mark: yaml.Mark, path: str) -> None:
        self._count += count
        if self._count > MAX_NODES:
            raise _at(
                mark,
                f'results in more than {MAX_NODES} values by aliases, or in '
                f'long paths to very many values',
                path,
            )

    def _scalar(
        self, source: yaml.Node, kind: str, mark: yaml.Mark, path: str
    ) -> bool | int | float | str | None:
        if not isinstance(source, yaml.ScalarNode):
            raise _at(mark, f'has the tag {source.tag}', path)
        if kind in _TEXTS:
            return _text(source, path)
        if kind not in _CONSTRUCT:
            raise _at(mark, f'has the tag {source.tag}', path)
        if kind in _NUMBERS and len(source.value) > MAX_DIGITS:
            raise _at(mark, 'has too many digits', path)
        try:
            value = _CONSTRUCT[kind](self._loader, source)
        except (ValueError, KeyError, IndexError, OverflowError) as exc:
            raise _at(mark, f'is not a valid {kind}', path) from exc
        if isinstance(value, int | float) and not abs(value) < nodes.LARGE:
            raise _at(mark, 'is too large or not a number', path)
        return value


def _merged(
    value: yaml.Node, mark: yaml.Mark, path: str
) -> list[yaml.MappingNode]:
    """Return the mappings under a merge key."""
    many = value.value if isinstance(value, yaml.SequenceNode) else [value]
    mappings = [each for each in many if isinstance(each, yaml.MappingNode)]
    if len(mappings) < len(many):
        raise _at(mark, 'must merge mappings', path)
    return mappings


def _text(source: yaml.ScalarNode, path: str) -> str:
    text: str = source.value
    reason = nodes.text_error(text)
    if reason is not None:
        raise _at(source.start_mark, reason, path)
    return text


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        head = raw[: exc.start].decode()
        raise _misread(head, len(head), 'is not UTF-8') from exc


def _misread(text: str, position: int, reason: str) -> errors.TemplateError:
    head = text[:position]
    line = head.count('\n') + 1
    return errors.TemplateError(reason, line, position - head.rfind('\n'), '$')


def _at(mark: yaml.Mark, reason: str, path: str = '$') -> errors.TemplateError:
    return errors.TemplateError(reason, mark.line + 1, mark.column + 1, path)

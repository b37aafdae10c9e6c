# SPDX-License-Identifier: Apache-2.0
"""Heat's intrinsic functions that need no cloud.

Each takes the Node of its resolved argument, and returns a plain value.
"""

from collections.abc import Callable
import functools
import json
import pathlib
import re
import typing

from nova_groupext_client import api_types
from nova_groupext_client.template import nodes
from nova_groupext_client.template import scopes

MAX_FILE_BYTES = 1024 * 1024
#: Reason why only Heat can provide a value.
UNKNOWN_YET = 'is unknown before the stack exists'

_Function: typing.TypeAlias = Callable[
    [nodes.Node, scopes.Scope], api_types.Json
]
_STACK_PARAMETERS = ('OS::stack_id', 'OS::project_id')


def _get_param(node: nodes.Node, scope: scopes.Scope) -> api_types.Json:
    """Return the value of ``name``, or of ``[name, key, index...]``."""
    parts = node.value if isinstance(node.value, list) else [node]
    if not parts:
        raise node.error('needs the name of a parameter')
    first, *keys = parts
    name = first.text()
    if name in _STACK_PARAMETERS:
        raise scope.needs_heat_error(first, UNKNOWN_YET)
    if name not in scope.values:
        raise first.error(f'names no parameter: {json.dumps(name)}')
    value = scope.values[name]
    if value is None and name == scopes.STACK_NAME:
        raise first.error('is unknown: the group has no name yet')
    for key in keys:
        value = _item(value, key.plain())
    return value


def _item(value: api_types.Json, key: api_types.Json) -> api_types.Json:
    """Return an item of a value; like in Heat, a missing one is ''."""
    if isinstance(value, dict):
        return value.get(str(key), '')
    if not isinstance(value, list) or not isinstance(key, str | int | float):
        return ''
    try:
        return value[int(key)]
    except (ValueError, IndexError):
        return ''


def _str_replace(
    node: nodes.Node, scope: scopes.Scope, *, strict: bool = False
) -> str:
    node.restricted_to(('template', 'params'), 'part of str_replace')
    template = node.required('template')
    text = template.text(minimum=0)
    params = {
        key: to_text(each)
        for key, each in node.required('params').mapping().items()
    }
    for key in params:
        if not key or (strict and key not in text):
            raise template.error(f'does not contain {json.dumps(key)}')
    if not params:
        return text
    longest_first = sorted(params, key=len, reverse=True)
    pattern = re.compile('|'.join(map(re.escape, longest_first)))
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        pieces += [text[end : match.start()], params[match.group()]]
        scope.spend(scopes.size(pieces[-1]), node)
        end = match.end()
    return ''.join([*pieces, text[end:]])


def _list_join(node: nodes.Node, scope: scopes.Scope) -> str:
    """Return the joined items of ``[delimiter, list, list...]``."""
    first, *lists = node.sequence() or [node]
    delimiter = first.value
    if not (lists and isinstance(delimiter, str)):
        raise node.error('must be a list: a delimiter, and lists of strings')
    items = [
        _joinable_text(item) for each in lists for item in each.sequence()
    ]
    scope.spend(len(items) * scopes.size(delimiter), node)
    scope.spend(sum(map(scopes.size, items)), node)
    return delimiter.join(items)


def _joinable_text(item: nodes.Node) -> str:
    if isinstance(item.value, bool | int | float):
        raise item.error('must be a string, a mapping or a list')
    return to_text(item)


def _list_concat(
    node: nodes.Node, scope: scopes.Scope
) -> list[api_types.Json]:
    lists = [each.sequence() for each in node.sequence()]
    return [item.plain() for items in lists for item in items]


def _map_merge(node: nodes.Node, scope: scopes.Scope) -> api_types.Object:
    maps = [each.mapping() for each in node.sequence()]
    return {k: v.plain() for each in maps for k, v in each.items()}


def _get_file(node: nodes.Node, scope: scopes.Scope) -> str:
    """Return the text of a file in or below the template's folder.

    Hidden files and folders, such as ``.git``, are errors.
    """
    name = node.text()
    if scope.folder is None:
        raise node.error('can only be read if the template is in a file')
    folder = pathlib.Path(scope.folder).resolve()
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise node.error('is outside of the folder of the template')
        if any(p.startswith('.') for p in path.relative_to(folder).parts):
            raise node.error('is hidden: a part of its path begins with "."')
        if not path.is_file():
            raise node.error(f'names no file: {json.dumps(name)}')
        if path.stat().st_size > MAX_FILE_BYTES:
            raise node.error(
                f'names a file of more than {MAX_FILE_BYTES} bytes'
            )
        return path.read_text(encoding='utf-8')
    except UnicodeDecodeError as exc:
        raise node.error('names a file that is not UTF-8 text') from exc
    except (OSError, RuntimeError) as exc:
        # Python up to 3.12 raises RuntimeError for circular links.
        raise node.error(f'cannot be read: {exc}') from exc


FUNCTIONS: dict[str, _Function] = {
    'get_file': _get_file,
    'get_param': _get_param,
    'list_concat': _list_concat,
    'list_join': _list_join,
    'map_merge': _map_merge,
    'str_replace': _str_replace,
    'str_replace_strict': functools.partial(_str_replace, strict=True),
}


def to_text(node: nodes.Node) -> str:
    """Return a value as the text that Heat inserts for it."""
    value = node.plain()
    if isinstance(value, dict | list):
        return json.dumps(value)
    return '' if value is None else str(value)

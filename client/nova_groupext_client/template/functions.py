# SPDX-License-Identifier: Apache-2.0
"""Evaluation of the intrinsic functions of Heat that need no cloud.

A mapping with the name of a function as its only key is a call of it. Errors
in the value of a call have the position of the call.
"""

import difflib
import functools
import json
import pathlib
import re

from nova_groupext_client.template import conditions as condition_sets
from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes

#: Maximum number of values that one template may make, and the number of
#: characters that count as one value.
MAX_VALUES = 1_000_000
CHARACTERS = 64
MAX_FILE_BYTES = 1024 * 1024

_NAME = 'OS::stack_name'
_STACK_PARAMETERS = ('OS::stack_id', 'OS::project_id')
# The only function that evaluates just one of its arguments.
_IF = 'if'
# Functions whose values exist only after Heat creates resources.
_NEED_RESOURCES = ('get_attr', 'get_resource', 'resource_facade')
_UNKNOWN_YET = 'is unknown before the stack exists'
_BY_PARAMETER = 'the description of the group needs it: use a parameter'
# difflib's similarity from which a name counts as a misspelt function: where
# only a call is valid, and where any mapping is.
_SIMILAR = 0.6
_VERY_SIMILAR = 0.8
_ONLY_IN_HEAT = (
    'digest',
    'filter',
    'make_url',
    'map_replace',
    'repeat',
    'str_replace_vstrict',
    'str_split',
    'yaql',
)


class Scope:
    """Context of an evaluation: parameters, files, conditions and a budget.

    :param values: {parameter: its plain value}
    :param name: name of the group, the value of ``OS::stack_name``
    :param folder: folder of the files that ``get_file`` may read, or None
    :param conditions: {name: Node} of the template's ``conditions``
    """

    def __init__(self, values, name=None, folder=None, conditions=None):
        self.values = {**values, _NAME: name}
        self.folder = folder
        self._conditions = condition_sets.Conditions(conditions or {})
        self._spent = 0
        self._advice = _BY_PARAMETER

    def end_description(self):
        """Advise the use of Heat in later errors: only creation is left."""
        self._advice = errors.HEAT_CREATES

    def needs_heat_error(self, node, reason):
        """Return the TemplateError for a value that only Heat can provide."""
        return node.error(f'{reason}; {self._advice}')

    def condition_is_true(self, condition):
        """Check whether the condition of an ``if`` or a resource holds.

        :param condition: Node
        """
        if self._conditions.is_evaluating:
            raise condition.error(
                'belongs to an "if", which a condition cannot contain'
            )
        self.spend(1, condition)
        return self._conditions.is_true(
            condition, lambda node: resolve(node, self)
        )

    def spend(self, amount, node):
        """Add to the number of values; raise TemplateError at the limit."""
        self._spent += amount
        if self._spent > MAX_VALUES:
            raise node.error('results in more values than any server needs')


def resolve(node, scope):
    """Return a Node like ``node``, with values in place of calls.

    :raises: TemplateError
    """
    scope.spend(1, node)
    if isinstance(node.value, list):
        kept = [each for each in node.value if not _is_omitted(each, scope)]
        return _with_value(node, [resolve(each, scope) for each in kept])
    if not isinstance(node.value, dict):
        return node
    if len(node.value) == 1:
        [(name, argument)] = node.value.items()
        if name == _IF:
            return _if(argument, scope)
        if name in _FUNCTIONS:
            value = _FUNCTIONS[name](resolve(argument, scope), scope)
            return make_node(node, value, scope)
        if name in _NEED_RESOURCES:
            raise scope.needs_heat_error(argument, _UNKNOWN_YET)
        if name in condition_sets.NAMES:
            raise argument.error('is a function that only conditions can call')
        if name in _ONLY_IN_HEAT:
            reason = 'is a function that only Heat has'
            raise scope.needs_heat_error(argument, reason)
        if name not in _NAMES and _most_similar(
            name, _DISTINCTIVE_NAMES, _VERY_SIMILAR
        ):
            raise no_function(argument, name)
    return _with_value(
        node,
        {
            key: resolve(each, scope)
            for key, each in node.value.items()
            if not _is_omitted(each, scope)
        },
    )


def _if(node, scope):
    """Return the value of ``[condition, value, optional alternative]``."""
    parts = node.sequence()
    if len(parts) not in (2, 3):
        raise node.error('must be a list: a condition, and one or two values')
    condition, *values = parts
    if scope.condition_is_true(condition):
        return resolve(values[0], scope)
    return resolve(values[1], scope) if values[1:] else _with_value(node, None)


def _is_omitted(node, scope):
    """Check for an ``if`` without alternative whose condition is false."""
    if not isinstance(node.value, dict) or [*node.value] != [_IF]:
        return False
    parts = node.value[_IF].value
    return (
        isinstance(parts, list)
        and len(parts) == 2
        and not scope.condition_is_true(parts[0])
    )


def make_node(node, value, scope):
    """Return a plain value as a Node with the position of ``node``."""
    scope.spend(size(value) if isinstance(value, str) else 1, node)
    if isinstance(value, dict):
        value = {
            k: make_node(node.child(k, v), v, scope) for k, v in value.items()
        }
    elif isinstance(value, list):
        value = [
            make_node(node.child(i, v), v, scope) for i, v in enumerate(value)
        ]
    return nodes.Node(value, node.line, node.column, node.path)


def is_call(node):
    """Check whether a mapping has the name of a Heat function as a key."""
    return isinstance(node.value, dict) and any(
        name in node.value for name in _NAMES
    )


def no_function(argument, name):
    """Return the TemplateError for a call of an unknown function.

    :param argument: Node of the argument of the call
    """
    similar = _most_similar(name, _NAMES, _SIMILAR)
    question = f'; did you mean {similar}?' if similar else ''
    return argument.error(f'is not a function{question}')


@functools.lru_cache
def _most_similar(name, names, cutoff):
    """Return the most similar of some names, or None."""
    matches = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return matches[0] if matches else None


def _with_value(node, value):
    return nodes.Node(value, node.line, node.column, node.path, node.source)


def _get_param(node, scope):
    """Return the value of ``name``, or of ``[name, key, index...]``."""
    parts = node.value if isinstance(node.value, list) else [node]
    if not parts:
        raise node.error('needs the name of a parameter')
    first, *keys = parts
    name = first.text()
    if name in _STACK_PARAMETERS:
        raise scope.needs_heat_error(first, _UNKNOWN_YET)
    if name not in scope.values:
        raise first.error(f'names no parameter: {json.dumps(name)}')
    value = scope.values[name]
    if value is None and name == _NAME:
        raise first.error('is unknown: the group has no name yet')
    for key in keys:
        value = _item(value, key.plain())
    return value


def _item(value, key):
    """Return an item of a value; like in Heat, a missing one is ''."""
    if isinstance(value, dict):
        return value.get(str(key), '')
    try:
        return value[int(key)] if isinstance(value, list) else ''
    except (ValueError, TypeError, IndexError):
        return ''


def _str_replace(node, scope):
    return _replace(node, scope, strict=False)


def _str_replace_strict(node, scope):
    return _replace(node, scope, strict=True)


def _replace(node, scope, strict):
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
    pieces, end = [], 0
    for match in pattern.finditer(text):
        pieces += [text[end : match.start()], params[match.group()]]
        scope.spend(size(pieces[-1]), node)
        end = match.end()
    return ''.join([*pieces, text[end:]])


def _list_join(node, scope):
    """Return the joined items of ``[delimiter, list, list...]``."""
    delimiter, *lists = node.sequence() or [node]
    if not (lists and isinstance(delimiter.value, str)):
        raise node.error('must be a list: a delimiter, and lists of strings')
    items = [
        _joinable_text(item) for each in lists for item in each.sequence()
    ]
    scope.spend(len(items) * size(delimiter.value), node)
    scope.spend(sum(map(size, items)), node)
    return delimiter.value.join(items)


def _joinable_text(item):
    if isinstance(item.value, bool | int | float):
        raise item.error('must be a string, a mapping or a list')
    return to_text(item)


def _list_concat(node, scope):
    lists = [each.sequence() for each in node.sequence()]
    return [item.plain() for items in lists for item in items]


def _map_merge(node, scope):
    maps = [each.mapping() for each in node.sequence()]
    return {k: v.plain() for each in maps for k, v in each.items()}


def _get_file(node, scope):
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


_FUNCTIONS = {
    'get_file': _get_file,
    'get_param': _get_param,
    'list_concat': _list_concat,
    'list_join': _list_join,
    'map_merge': _map_merge,
    'str_replace': _str_replace,
    'str_replace_strict': _str_replace_strict,
}
_NAMES = (
    *_FUNCTIONS,
    _IF,
    *condition_sets.NAMES,
    *_NEED_RESOURCES,
    *_ONLY_IN_HEAT,
)
# Other names, such as "filter", may resemble keys that are no mistake.
_DISTINCTIVE_NAMES = tuple(name for name in _NAMES if '_' in name)


def to_text(node):
    """Return a value as the text that Heat inserts for it."""
    value = node.plain()
    if isinstance(value, dict | list):
        return json.dumps(value)
    return '' if value is None else str(value)


def text_of(node):
    """Return a value as text.

    A function may return a mapping or a list. One in the template itself is
    an error, most likely a misspelt call.
    """
    if node.source is None or not isinstance(node.value, dict | list):
        return to_text(node)
    if isinstance(node.value, dict) and len(node.value) == 1:
        [(name, argument)] = node.value.items()
        raise no_function(argument, name)
    raise node.error('must be a string')


def size(text):
    """Return the number of values that a text counts as."""
    return 1 + len(text) // CHARACTERS

# SPDX-License-Identifier: Apache-2.0
"""Values of a template's ``parameters``, and their constraints."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import json
import subprocess
import sys
import typing

from nova_groupext_client import api_types
from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes
from nova_groupext_client.template import reading

# Heat's keys of a parameter.
_KEYS = (
    'type',
    'label',
    'description',
    'default',
    'hidden',
    'constraints',
    'immutable',
    'tags',
)
# Matching a pattern may take exponential time, so it runs in a child process
# that can be stopped.
_PATTERN_SECONDS = 5
_MATCH = (
    'import re, sys\n'
    'pattern, text = sys.stdin.read().split("\\0")\n'
    'sys.exit(0 if re.fullmatch(pattern, text) else 3)\n'
)


def values(
    root: nodes.Node, arguments: Mapping[str, api_types.Json]
) -> api_types.Object:
    """Return {parameter: its plain value}.

    :param root: the template
    :param arguments: {parameter: text, or a value of its type}
    :raises: TemplateError
    """
    result = {
        name: _value(node, name, arguments)
        for name, node in root.section('parameters').items()
    }
    unknown = sorted(set(arguments) - set(result), key=str)
    if unknown:
        place = root.get('parameters') or root
        raise place.error(f'has no parameter {json.dumps(str(unknown[0]))}')
    return result


def hidden(root: nodes.Node) -> frozenset[str]:
    """Return the names of the parameters whose values are secret.

    :param root: a template that :func:`values` accepts
    :raises: TemplateError
    """
    return frozenset(
        name
        for name, node in root.section('parameters').items()
        if _is_hidden(node)
    )


def _is_hidden(node: nodes.Node) -> bool:
    value = node.get('hidden')
    return value is not None and value.boolean()


def _value(
    node: nodes.Node, name: str, arguments: Mapping[str, api_types.Json]
) -> api_types.Json:
    node.restricted_to(_KEYS, 'part of a parameter')
    kind = node.required('type')
    if kind.text() not in _TYPES:
        raise kind.error(f'must be one of {", ".join(_TYPES)}')
    argument = node.get('default')
    if name in arguments:
        _check_characters(node, arguments[name])
        argument = node.of_plain(arguments[name])
    if argument is None:
        raise node.error(
            f'needs a value: --parameter {name}=..., or a default'
        )
    value = _TYPES[kind.text()](argument)
    _check(node, value)
    return value


def _check_characters(node: nodes.Node, value: api_types.Json) -> None:
    """Raise TemplateError for characters that no template may contain."""
    for text in _texts(value):
        reason = nodes.text_error(text)
        if reason is not None:
            raise node.error(reason)


def _texts(value: api_types.Json) -> Iterator[str]:
    """Yield the texts in a plain value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _string(node: nodes.Node) -> str:
    if node.value is None:
        return ''
    if not isinstance(node.value, str | int | float):
        raise node.error('must be a string')
    return str(node.value)


def _json(node: nodes.Node) -> api_types.Json:
    value = node.plain()
    if isinstance(value, str):
        value = _parsed(node, value) if value.strip() else {}
    if not isinstance(value, dict | list):
        raise node.error('must be a mapping or a list, or JSON of one')
    return value


def _parsed(node: nodes.Node, text: str) -> api_types.Json:
    try:
        return reading.read(text).plain()
    except errors.TemplateError as exc:
        raise node.error(f'is not JSON: {exc.reason}') from exc


def _list(node: nodes.Node) -> list[api_types.Json]:
    if isinstance(node.value, str):
        return [*node.value.split(',')] if node.value else []
    if not isinstance(node.value, list):
        raise node.error('must be a list or a comma-separated string')
    return [str(each.plain()) for each in node.value]


_TYPES: dict[str, Callable[[nodes.Node], api_types.Json]] = {
    'string': _string,
    'number': nodes.Node.number,
    'boolean': nodes.Node.boolean,
    'json': _json,
    'comma_delimited_list': _list,
}


def _check(node: nodes.Node, value: api_types.Json) -> None:
    """Raise TemplateError if a constraint excludes the value."""
    constraints = node.get('constraints')
    for each in constraints.sequence() if constraints else ():
        keys = {*each.mapping()} - {'description'}
        name = keys.pop() if len(keys) == 1 else ''
        if name not in _CONSTRAINTS:
            raise each.error(f'needs one of {", ".join(_CONSTRAINTS)}')
        rule = each.required(name)
        if not _CONSTRAINTS[name](rule, value):
            description = each.get('description')
            shown = '' if _is_hidden(node) else f'{json.dumps(value)}, '
            limits = json.dumps(rule.plain())
            raise node.error(
                description.text()
                if description
                else f'is {shown}not allowed by its {name} {limits}'
            )


def _length(limits: nodes.Node, value: api_types.Json) -> bool:
    if not isinstance(value, str | list | dict):
        raise limits.error('applies to strings and lists only')
    return _in_range(limits, len(value))


def _in_range(limits: nodes.Node, value: api_types.Json) -> bool:
    nodes_by_key = limits.restricted_to(('min', 'max'), 'limit')
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise limits.error('applies to numbers only')
    bounds = {key: each.number() for key, each in nodes_by_key.items()}
    return bounds.get('min', value) <= value <= bounds.get('max', value)


def _modulo(rule: nodes.Node, value: api_types.Json) -> bool:
    rule.restricted_to(('step', 'offset'), 'part of modulo')
    step = rule.required('step').integer(minimum=1)
    offset = rule.required('offset').integer()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise rule.error('applies to numbers only')
    return value % step == offset


def _allowed(allowed: nodes.Node, value: api_types.Json) -> bool:
    allowed_values = [each.plain() for each in allowed.sequence()]
    items = value if isinstance(value, list) else [value]
    return all(
        each in allowed_values or str(each) in map(str, allowed_values)
        for each in items
    )


def _pattern(pattern: nodes.Node, value: api_types.Json) -> bool:
    if not isinstance(value, str):
        raise pattern.error('applies to strings only')
    try:
        process = subprocess.run(
            [sys.executable, '-I', '-S', '-c', _MATCH],
            input=f'{pattern.text()}\0{value}',
            capture_output=True,
            encoding='utf-8',
            timeout=_PATTERN_SECONDS,
        )
    except subprocess.TimeoutExpired as exc:
        raise pattern.error('takes too long to match') from exc
    if process.returncode not in (0, 3):
        raise pattern.error('is not a regular expression')
    return process.returncode == 0


def _custom(rule: nodes.Node, value: api_types.Json) -> bool:
    """Accept any name of a flavor, an image etc.: the cloud checks it."""
    return True


_Constraint: typing.TypeAlias = Callable[[nodes.Node, api_types.Json], bool]
_CONSTRAINTS: dict[str, _Constraint] = {
    'length': _length,
    'range': _in_range,
    'modulo': _modulo,
    'allowed_values': _allowed,
    'allowed_pattern': _pattern,
    'custom_constraint': _custom,
}

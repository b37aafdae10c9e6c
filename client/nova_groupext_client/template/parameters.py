# SPDX-License-Identifier: Apache-2.0
"""Values of a template's ``parameters``, and their constraints."""

import json
import subprocess
import sys

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


def values(root, arguments):
    """Return {parameter: its plain value}.

    :param root: Node of the template
    :param arguments: {parameter: text, or a value of its type}
    :raises: TemplateError
    """
    result = {
        name: _value(node, name, arguments)
        for name, node in root.section('parameters').items()
    }
    unknown = sorted(set(arguments) - set(result), key=str)
    if unknown:
        place = root.value.get('parameters') or root
        raise place.error(f'has no parameter {json.dumps(str(unknown[0]))}')
    return result


def hidden(root):
    """Return the names of the parameters whose values are secret.

    :param root: Node of a template that :func:`values` accepts
    :raises: TemplateError
    """
    return frozenset(
        name
        for name, node in root.section('parameters').items()
        if _is_hidden(node)
    )


def _is_hidden(node):
    return 'hidden' in node.value and node.value['hidden'].boolean()


def _value(node, name, arguments):
    node.restricted_to(_KEYS, 'part of a parameter')
    kind = node.required('type').text()
    if kind not in _TYPES:
        raise node.value['type'].error(f'must be one of {", ".join(_TYPES)}')
    if name in arguments:
        value = nodes.Node(arguments[name], node.line, node.column, node.path)
        _check_characters(value)
    elif 'default' in node.value:
        value = node.value['default']
    else:
        raise node.error(
            f'needs a value: --parameter {name}=..., or a default'
        )
    value = _TYPES[kind](value)
    _check(node, value)
    return value


def _check_characters(node):
    """Raise TemplateError for characters that no template may contain."""
    for text in _texts(node.value):
        reason = nodes.text_error(text)
        if reason is not None:
            raise node.error(reason)


def _texts(value):
    """Yield the texts in a plain value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _string(node):
    return '' if node.value is None else _scalar(node)


def _scalar(node):
    if not isinstance(node.value, str | int | float):
        raise node.error('must be a string')
    return str(node.value)


def _json(node):
    value = node.value
    if isinstance(value, str):
        value = _parsed(node, value) if value.strip() else {}
    elif isinstance(value, dict | list):
        value = _plain(node)
    if not isinstance(value, dict | list):
        raise node.error('must be a mapping or a list, or JSON of one')
    return value


def _parsed(node, text):
    try:
        return reading.read(text).plain()
    except errors.TemplateError as exc:
        raise node.error(f'is not JSON: {exc.reason}') from exc


def _list(node):
    if isinstance(node.value, str):
        return node.value.split(',') if node.value else []
    if not isinstance(node.value, list):
        raise node.error('must be a list or a comma-separated string')
    return [str(each) for each in _plain(node)]


def _plain(node):
    """Return the plain value of a Node that may contain plain values."""
    return json.loads(json.dumps(node.value, default=nodes.Node.plain))


_TYPES = {
    'string': _string,
    'number': nodes.Node.number,
    'boolean': nodes.Node.boolean,
    'json': _json,
    'comma_delimited_list': _list,
}


def _check(node, value):
    """Raise TemplateError if a constraint excludes the value."""
    constraints = node.value.get('constraints')
    for each in constraints.sequence() if constraints else ():
        keys = {*each.mapping()} - {'description'}
        name = keys.pop() if len(keys) == 1 else None
        if name not in _CONSTRAINTS:
            raise each.error(f'needs one of {", ".join(_CONSTRAINTS)}')
        if not _CONSTRAINTS[name](each.value[name], value):
            description = each.value.get('description')
            shown = '' if _is_hidden(node) else f'{json.dumps(value)}, '
            limits = json.dumps(each.value[name].plain())
            raise node.error(
                description.text()
                if description
                else f'is {shown}not allowed by its {name} {limits}'
            )


def _length(limits, value):
    if not isinstance(value, str | list | dict):
        raise limits.error('applies to strings and lists only')
    return _in_range(limits, len(value))


def _in_range(limits, value):
    limits.restricted_to(('min', 'max'), 'limit')
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise limits.error('applies to numbers only')
    bounds = {key: each.number() for key, each in limits.value.items()}
    return bounds.get('min', value) <= value <= bounds.get('max', value)


def _modulo(rule, value):
    rule.restricted_to(('step', 'offset'), 'part of modulo')
    step = rule.required('step').integer(minimum=1)
    offset = rule.required('offset').integer()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise rule.error('applies to numbers only')
    return value % step == offset


def _allowed(allowed, value):
    allowed_values = [each.plain() for each in allowed.sequence()]
    items = value if isinstance(value, list) else [value]
    return all(
        each in allowed_values or str(each) in map(str, allowed_values)
        for each in items
    )


def _pattern(pattern, value):
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


def _custom(rule, value):
    """Accept any name of a flavor, an image etc.: the cloud checks it."""
    return True


_CONSTRAINTS = {
    'length': _length,
    'range': _in_range,
    'modulo': _modulo,
    'allowed_values': _allowed,
    'allowed_pattern': _pattern,
    'custom_constraint': _custom,
}

# SPDX-License-Identifier: Apache-2.0
"""Bad input: one exception, one way to check a shape.

Everything that comes from outside is checked here, so that a user always
learns the place (a JSON path) and the reason in one line of plain ASCII.
"""

import functools
import json
import math
import re

from nova_groupext.planner import shapes

_PLAIN_KEY = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*\Z', re.ASCII)

_REASONS = {
    'type': 'must be a JSON {}',
    'const': 'must be {}',
    'enum': 'must be one of {}',
    'minimum': 'must be at least {}',
    'exclusiveMinimum': 'must be more than {}',
    'maximum': 'must be at most {}',
    'minLength': 'must have at least {} characters',
    'maxLength': 'must have at most {} characters',
    'minItems': 'must have at least {} items',
    'maxItems': 'must have at most {} items',
    'maxProperties': 'must have at most {} entries',
    'uniqueItems': 'must not repeat an item',
    'required': 'is missing',
    'additionalProperties': 'is not known here',
}


class InvalidInput(ValueError):
    """What a user sent cannot be used.

    :ivar path: JSON path of the offending value, ``$.topology.members.a``
    :ivar reason: why, as half a sentence that goes on after the path
    """

    def __init__(self, path, reason):
        super().__init__(f'{path}: {reason}')
        self.path = path
        self.reason = reason


def child(path, key):
    """JSON path of an object's key or an array's index below ``path``."""
    if isinstance(key, int):
        return f'{path}[{key}]'
    if _PLAIN_KEY.match(key):
        return f'{path}.{key}'
    return f'{path}[{quote(key)}]'


def quote(value):
    """A JSON value as one line of ASCII, fit for a message."""
    return json.dumps(value)


def check(value, schema, path):
    """Refuse a value that does not match its JSON schema.

    Numbers must be finite, and a boolean is no number.

    :raises InvalidInput: with the path of the first thing that is wrong
    """
    if shapes.is_surely(value, schema):
        return
    try:
        error = next(_validator()(schema).iter_errors(value), None)
    except RecursionError:
        # jsonschema prints the value into its message, however deep it is.
        raise InvalidInput(path, 'is nested too deeply') from None
    if error is not None:
        for key in [*error.absolute_path, *_missing_or_unknown(error)]:
            path = child(path, key)
        raise InvalidInput(path, _reason(error))


def _is_finite(checker, value):
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


@functools.cache
def _validator():
    # Takes longer to import than all the rest to run, and is rarely needed.
    from jsonschema import validators

    stock = validators.Draft202012Validator
    numbers = stock.TYPE_CHECKER.redefine('number', _is_finite)
    return validators.extend(stock, type_checker=numbers)


def _missing_or_unknown(error):
    """The keys an error is about that the path to its object lacks."""
    if error.validator == 'required':
        return [k for k in error.validator_value if k not in error.instance][
            :1
        ]
    if error.validator == 'additionalProperties':
        known = error.schema.get('properties', {})
        return sorted(k for k in error.instance if k not in known)[:1]
    return []


def _reason(error):
    text = _REASONS.get(error.validator, 'does not match the schema')
    value = error.validator_value
    return text.format(value if isinstance(value, str) else quote(value))

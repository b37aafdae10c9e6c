# SPDX-License-Identifier: Apache-2.0
"""Validation of outside input: one exception, one schema check.

Every message names the JSON path and the reason in one line of plain ASCII.
"""

import functools
import json
import math
import re
from typing import Any

from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.language import fast_check

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
    'additionalProperties': 'is unknown',
    'pattern': 'must match {}',
    'minProperties': 'must have at least {} entries',
}


class InvalidInput(ValueError):
    """Unusable input from a user.

    :ivar path: JSON path of the offending value, ``$.topology.members.a``
    :ivar reason: half a sentence that continues the path
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f'{path}: {reason}')
        self.path = path
        self.reason = reason


def json_path(path: str, key: str | int) -> str:
    """Return the JSON path of an object's key or an index below `path`."""
    if isinstance(key, int):
        return f'{path}[{key}]'
    if _PLAIN_KEY.match(key):
        return f'{path}.{key}'
    return f'{path}[{quote(key)}]'


def quote(value: object) -> str:
    """Return a JSON value as one line of ASCII, fit for a message."""
    return json.dumps(value)


def check(value: object, schema: Schema, path: str) -> None:
    """Raise InvalidInput if a value does not match its JSON schema.

    Numbers must be finite, and a boolean is no number.

    :raises InvalidInput: with the path of the first error
    """
    if fast_check.surely_valid(value, schema):
        return
    try:
        error = next(_validator()(schema).iter_errors(value), None)
    except RecursionError:
        # jsonschema formats the value into its message, at any depth.
        raise InvalidInput(path, 'is nested too deeply') from None
    if error is not None:
        for key in [*error.absolute_path, *_missing_or_unknown(error)]:
            path = json_path(path, key)
        raise InvalidInput(path, _reason(error))


def _is_finite(checker: object, value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


# jsonschema has no annotations: its validators and errors are Any.


@functools.cache
def _validator() -> Any:
    # The import takes longer than the rest of a run, and is rarely needed.
    from jsonschema import validators

    draft = validators.Draft202012Validator
    numbers = draft.TYPE_CHECKER.redefine('number', _is_finite)
    return validators.extend(draft, type_checker=numbers)


def _missing_or_unknown(error: Any) -> list[str]:
    """Return the first missing or unknown key that an error is about."""
    if error.validator == 'required':
        missing = [k for k in error.validator_value if k not in error.instance]
        return missing[:1]
    if error.validator == 'additionalProperties':
        properties = error.schema.get('properties', {})
        return sorted(k for k in error.instance if k not in properties)[:1]
    return []


def _reason(error: Any) -> str:
    text = _REASONS.get(error.validator, 'does not match the schema')
    value = error.validator_value
    return text.format(value if isinstance(value, str) else quote(value))

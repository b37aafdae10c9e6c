# SPDX-License-Identifier: Apache-2.0
"""Fast check whether a JSON value certainly matches a JSON schema.

Nearly all input is valid, and a cloud of 10,000 hosts has some hundred
thousand values to check. Wrong or unusual values are left to jsonschema,
which supports the whole schema language and reports the path and the reason.
"""

from collections.abc import Callable
import sys
from typing import Any
from typing import TypeAlias

from nova_groupext.solver.aliases import Schema

_Predicate: TypeAlias = Callable[[object], bool]

# An integer beyond these may not convert to a finite float.
_MIN_NUMBER, _MAX_NUMBER = -sys.float_info.max, sys.float_info.max

# Nearly all schemas are constants; this bounds the cache for the others.
_MAX_CACHED = 1_000
_cache: dict[int, tuple[Schema, _Predicate]] = {}


def surely_valid(value: object, schema: Schema) -> bool:
    """Check whether a JSON value certainly matches a schema.

    :param schema: no caller changes it afterwards
    :returns: False if it does not match, or if only jsonschema can decide
    """
    entry = _cache.get(id(schema))
    if entry is None:
        if len(_cache) >= _MAX_CACHED:
            _cache.clear()
        # The cache keeps the schema, so its id stays unique.
        entry = _cache[id(schema)] = (schema, _compile(schema))
    return entry[1](value)


def _compile(schema: Schema) -> _Predicate:
    for key, compiler in _COMPILERS.items():
        if key in schema:
            predicate, keys = compiler(schema)
            return predicate if schema.keys() <= keys else _never
    return _never if schema else _always


def _never(value: object) -> bool:
    return False


def _always(value: object) -> bool:
    return True


def _compile_const(schema: Schema) -> tuple[_Predicate, set[str]]:
    expected = schema['const']
    if type(expected) not in (int, str):
        return _never, {'const'}
    # True equals 1 in Python, but not in JSON.
    kind = type(expected)
    return lambda value: type(value) is kind and value == expected, {'const'}


def _compile_enum(schema: Schema) -> tuple[_Predicate, set[str]]:
    allowed = {each for each in schema['enum'] if isinstance(each, str)}
    return lambda value: isinstance(value, str) and value in allowed, {'enum'}


def _compile_type(schema: Schema) -> tuple[_Predicate, set[str]]:
    # Lists of types are not in the table: jsonschema decides.
    compiler, keys = _TYPE_COMPILERS.get(
        str(schema['type']), (_compile_unknown, ())
    )
    return compiler(schema), {'type', *keys}


def _compile_unknown(schema: Schema) -> _Predicate:
    return _never


def _compile_boolean(schema: Schema) -> _Predicate:
    return lambda value: value is True or value is False


def _compile_integer(schema: Schema) -> _Predicate:
    minimum: float = schema.get('minimum', _MIN_NUMBER)
    maximum: float = schema.get('maximum', _MAX_NUMBER)

    def is_integer(value: object) -> bool:
        return (
            type(value) is int or (type(value) is float and value.is_integer())
        ) and minimum <= value <= maximum

    return is_integer


def _compile_number(schema: Schema) -> _Predicate:
    minimum: float = schema.get('minimum', _MIN_NUMBER)
    maximum: float = schema.get('maximum', _MAX_NUMBER)
    exclusive_minimum: float | None = schema.get('exclusiveMinimum')

    def is_number(value: object) -> bool:
        return (
            (type(value) is float or type(value) is int)
            and minimum <= value <= maximum
            and (exclusive_minimum is None or exclusive_minimum < value)
        )

    return is_number


def _compile_string(schema: Schema) -> _Predicate:
    minimum: int = schema.get('minLength', 0)
    maximum: float = schema.get('maxLength', _MAX_NUMBER)
    return lambda value: (
        isinstance(value, str) and minimum <= len(value) <= maximum
    )


def _compile_array(schema: Schema) -> _Predicate:
    minimum: int = schema.get('minItems', 0)
    maximum: float = schema.get('maxItems', _MAX_NUMBER)
    fits = _compile(schema.get('items', {}))
    is_unique: bool = schema.get('uniqueItems', False)

    def is_array(value: object) -> bool:
        return (
            isinstance(value, list)
            and minimum <= len(value) <= maximum
            and all(map(fits, value))
            and not (is_unique and _may_repeat(value))
        )

    return is_array


def _may_repeat(values: list[Any]) -> bool:
    """Check whether an item may occur twice."""
    are_strings = all(isinstance(value, str) for value in values)
    return not are_strings or len(set(values)) < len(values)


def _compile_object(schema: Schema) -> _Predicate:
    properties = {
        key: _compile(value)
        for key, value in schema.get('properties', {}).items()
    }
    others = schema.get('additionalProperties', {})
    other = _compile(others) if isinstance(others, dict) else _never
    required = set(schema.get('required', ()))
    maximum: float = schema.get('maxProperties', _MAX_NUMBER)

    def is_object(value: object) -> bool:
        return (
            isinstance(value, dict)
            and len(value) <= maximum
            and required <= value.keys()
            and all(properties.get(k, other)(v) for k, v in value.items())
        )

    def is_map(value: object) -> bool:
        return (
            isinstance(value, dict)
            and len(value) <= maximum
            and all(map(other, value.values()))
        )

    return is_object if properties or required else is_map


# Compilers of the types, and the keys of a schema that they support.
_TYPE_COMPILERS: dict[
    str, tuple[Callable[[Schema], _Predicate], tuple[str, ...]]
] = {
    'array': (
        _compile_array,
        ('items', 'minItems', 'maxItems', 'uniqueItems'),
    ),
    'boolean': (_compile_boolean, ()),
    'integer': (_compile_integer, ('minimum', 'maximum')),
    'number': (_compile_number, ('minimum', 'maximum', 'exclusiveMinimum')),
    'object': (
        _compile_object,
        ('properties', 'additionalProperties', 'required', 'maxProperties'),
    ),
    'string': (_compile_string, ('minLength', 'maxLength')),
}

_COMPILERS = {
    'const': _compile_const,
    'enum': _compile_enum,
    'type': _compile_type,
}

# SPDX-License-Identifier: Apache-2.0
"""Fast check whether a JSON value certainly matches a JSON schema.

Nearly all input is valid, and a cloud of 10,000 hosts has some hundred
thousand values to check. Wrong or unusual values are left to jsonschema,
which supports the whole schema language and reports the path and the reason.
"""

import sys

# An integer beyond these may not convert to a finite float.
_LEAST, _MOST = -sys.float_info.max, sys.float_info.max

# Nearly all schemas are constants; this bounds the cache for the others.
_ROOM = 1_000
_known = {}


def surely_valid(value, schema):
    """Check whether a JSON value certainly matches a schema.

    :param schema: a dict that no caller changes afterwards
    :returns: False if it does not match, or if only jsonschema can decide
    """
    entry = _known.get(id(schema))
    if entry is None:
        if len(_known) >= _ROOM:
            _known.clear()
        # The cache keeps the schema, so its id stays unique.
        entry = _known[id(schema)] = (schema, _form(schema))
    return entry[1](value)


def _form(schema):
    """Return the predicate of a schema."""
    for key, form in _FORMS.items():
        if key in schema:
            made, known = form(schema)
            return made if schema.keys() <= known else _never
    return _never if schema else _always


def _never(value):
    return False


def _always(value):
    return True


def _form_const(schema):
    wanted = schema['const']
    if type(wanted) not in (int, str):
        return _never, {'const'}
    # True equals 1 in Python, but not in JSON.
    kind = type(wanted)
    return lambda value: type(value) is kind and value == wanted, {'const'}


def _form_enum(schema):
    wanted = {each for each in schema['enum'] if isinstance(each, str)}
    return lambda value: isinstance(value, str) and value in wanted, {'enum'}


def _form_type(schema):
    # Lists of types are not in the table: jsonschema decides.
    form, *keys = _TYPES.get(str(schema['type']), (_form_unknown,))
    return form(schema), {'type', *keys}


def _form_unknown(schema):
    return _never


def _form_boolean(schema):
    return lambda value: value is True or value is False


def _form_integer(schema):
    low, high = schema.get('minimum', _LEAST), schema.get('maximum', _MOST)

    def is_integer(value):
        kind = type(value)
        return (
            kind is int or (kind is float and value.is_integer())
        ) and low <= value <= high

    return is_integer


def _form_number(schema):
    low, high = schema.get('minimum', _LEAST), schema.get('maximum', _MOST)
    above = schema.get('exclusiveMinimum')

    def is_number(value):
        kind = type(value)
        return (
            (kind is float or kind is int)
            and low <= value <= high
            and (above is None or above < value)
        )

    return is_number


def _form_string(schema):
    low, high = schema.get('minLength', 0), schema.get('maxLength', _MOST)
    return lambda value: isinstance(value, str) and low <= len(value) <= high


def _form_array(schema):
    low, high = schema.get('minItems', 0), schema.get('maxItems', _MOST)
    fits = _form(schema.get('items', {}))
    is_unique = schema.get('uniqueItems', False)

    def is_array(value):
        return (
            isinstance(value, list)
            and low <= len(value) <= high
            and all(map(fits, value))
            and not (is_unique and _repeats(value))
        )

    return is_array


def _repeats(values):
    """Check whether an item may occur twice."""
    are_strings = all(isinstance(value, str) for value in values)
    return not are_strings or len(set(values)) < len(values)


def _form_object(schema):
    parts = {k: _form(s) for k, s in schema.get('properties', {}).items()}
    others = schema.get('additionalProperties', {})
    other = _form(others) if isinstance(others, dict) else _never
    required = set(schema.get('required', ()))
    high = schema.get('maxProperties', _MOST)

    def is_object(value):
        return (
            isinstance(value, dict)
            and len(value) <= high
            and required <= value.keys()
            and all(parts.get(k, other)(v) for k, v in value.items())
        )

    def is_map(value):
        return (
            isinstance(value, dict)
            and len(value) <= high
            and all(map(other, value.values()))
        )

    return is_object if parts or required else is_map


_TYPES = {
    'array': (
        _form_array,
        'items',
        'minItems',
        'maxItems',
        'uniqueItems',
    ),
    'boolean': (_form_boolean,),
    'integer': (_form_integer, 'minimum', 'maximum'),
    'number': (_form_number, 'minimum', 'maximum', 'exclusiveMinimum'),
    'object': (
        _form_object,
        'properties',
        'additionalProperties',
        'required',
        'maxProperties',
    ),
    'string': (_form_string, 'minLength', 'maxLength'),
}

_FORMS = {
    'const': _form_const,
    'enum': _form_enum,
    'type': _form_type,
}

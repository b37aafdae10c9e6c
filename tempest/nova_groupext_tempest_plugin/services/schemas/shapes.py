# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the schemas."""

TEXT = {'type': 'string', 'minLength': 1}
TEXT_OR_NULL = {'type': ['string', 'null']}
INTEGER = {'type': 'integer'}
NUMBER = {'type': 'number'}
BOOLEAN = {'type': 'boolean'}
TIME = {
    'type': 'string',
    'pattern': r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$',
}
TIME_OR_NULL = {**TIME, 'type': ['string', 'null']}


def closed(properties, optional=()):
    """Return the schema of an object with exactly these properties."""
    schema = {
        'type': 'object',
        'properties': properties,
        'additionalProperties': False,
    }
    required = sorted(set(properties) - set(optional))
    # Draft 4 of JSON Schema forbids an empty list.
    return {**schema, 'required': required} if required else schema


def nullable(schema):
    """Return the schema of an object that may be null instead."""
    return {**schema, 'type': ['object', 'null']}


def array(items):
    """Return the schema of a list."""
    return {'type': 'array', 'items': items}


def mapping(values):
    """Return the schema of an object with arbitrary keys."""
    return {'type': 'object', 'additionalProperties': values}


def response(status_code, body=None, **more):
    """Return a schema for ``RestClient.validate_response``."""
    expected = {'status_code': [status_code], **more}
    return expected if body is None else {**expected, 'response_body': body}

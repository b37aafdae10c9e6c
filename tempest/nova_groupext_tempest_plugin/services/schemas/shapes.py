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
    """Return the schema of an object that has these fields and no others."""
    schema = {
        'type': 'object',
        'properties': properties,
        'additionalProperties': False,
    }
    required = sorted(set(properties) - set(optional))
    # An empty list is no JSON schema.
    return {**schema, 'required': required} if required else schema


def nullable(schema):
    """Return the schema of an object that may be null instead."""
    return {**schema, 'type': ['object', 'null']}


def array(items):
    """Return the schema of a list."""
    return {'type': 'array', 'items': items}


def mapping(values):
    """Return the schema of an object whose keys are names of the tenant's."""
    return {'type': 'object', 'additionalProperties': values}


def answer(status_code, body=None, **more):
    """Return what ``RestClient.validate_response`` takes."""
    expected = {'status_code': [status_code], **more}
    return expected if body is None else {**expected, 'response_body': body}

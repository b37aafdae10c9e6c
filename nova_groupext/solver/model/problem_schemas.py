# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of problem files."""

from nova_groupext.solver.aliases import Schema
from nova_groupext.solver.language import schemas

MAX_TIME_LIMIT = 1e6

# Far above any cloud; the size limit of the file restricts the total more.
_MAX_HOSTS = 100_000
_MAX_CLASSES = 10_000
_MAX_RESOURCES = 1_000
_MAX_OPTIONS = 1_000

_NAME: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_AMOUNTS: Schema = {
    'type': 'object',
    'maxProperties': _MAX_RESOURCES,
    'additionalProperties': {
        'type': 'integer',
        'minimum': 0,
        'maximum': 2**63 - 1,
    },
}

PROBLEM: Schema = {
    'type': 'object',
    'properties': {
        'version': {'const': 1},
        # Every level doubles the terms of soft policies about distances.
        'levels': {
            'type': 'array',
            'items': _NAME,
            'minItems': 1,
            'maxItems': 8,
            'uniqueItems': True,
        },
        'hosts': {'type': 'array', 'maxItems': _MAX_HOSTS},
        'classes': {'type': 'object', 'maxProperties': _MAX_CLASSES},
        'topology': {'type': 'object'},
        'pinned': {'type': 'object', 'additionalProperties': _NAME},
        'outsiders': {'type': 'object', 'additionalProperties': _NAME},
        'time_limit': {
            'type': 'number',
            'minimum': 0,
            'maximum': MAX_TIME_LIMIT,
        },
        'deadline': {
            'type': 'number',
            'minimum': 0,
            'maximum': MAX_TIME_LIMIT,
        },
        # Members and hosts that the problem does not have are ignored.
        'current': {'type': 'object', 'additionalProperties': _NAME},
        'objective': {'enum': ['cost', 'changes']},
        'seed': {'type': 'integer', 'minimum': 0, 'maximum': 2**31 - 1},
    },
    'required': ['version', 'levels', 'hosts', 'classes', 'topology'],
    'additionalProperties': False,
}

HOST: Schema = {
    'type': 'object',
    'properties': {
        'id': _NAME,
        'domains': {'type': 'object', 'additionalProperties': _NAME},
        'free': _AMOUNTS,
        'foreign': {'type': 'boolean'},
    },
    'required': ['id'],
    'additionalProperties': False,
}

CLASS: Schema = {
    'type': 'object',
    'properties': {
        'request': _AMOUNTS,
        'hosts': {'type': 'array', 'items': _NAME},
        'scores': {
            'type': 'object',
            'additionalProperties': {
                'type': 'number',
                'minimum': -1e12,
                'maximum': 1e12,
            },
        },
        'alternatives': {
            'type': 'object',
            'additionalProperties': {
                'type': 'array',
                'items': _AMOUNTS,
                'minItems': 1,
                'maxItems': _MAX_OPTIONS,
            },
        },
    },
    'required': ['request'],
    'additionalProperties': False,
}

MEMBER: Schema = {
    'type': 'object',
    'properties': {'class': {'type': 'string'}, **schemas.NAMES},
    'required': ['class'],
}

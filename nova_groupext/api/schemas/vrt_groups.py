# SPDX-License-Identifier: Apache-2.0
"""Bodies and query strings of ``/os-vrt-groups``.

The topology has schemas of its own: see nova_groupext.planner.topology.
"""

from nova_groupext.objects import states

_TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 255}
# The operator's maximum is looked at where the number is read.
_SECONDS = {'type': 'integer', 'minimum': 1}

CREATE = {
    'type': 'object',
    'properties': {
        'vrt_group': {
            'type': 'object',
            'properties': {
                'name': _TEXT,
                'description': {
                    'type': ['string', 'null'],
                    'maxLength': 1024,
                },
                'hold': {'type': 'boolean'},
                'expires_in': _SECONDS,
                'client_token': _TEXT,
                'topology': {'type': 'object'},
            },
            'required': ['name', 'topology'],
            'additionalProperties': False,
        },
    },
    'required': ['vrt_group'],
    'additionalProperties': False,
}

#: What describes a member, besides its count and min_count.
MEMBER = {
    'type': 'object',
    'properties': {
        'flavor': _TEXT,
        'image': _TEXT,
        'boot_from_volume': {'type': 'boolean'},
        'availability_zone': _TEXT,
    },
    'required': ['flavor'],
    'additionalProperties': False,
}

ACTION = {
    'type': 'object',
    'properties': {
        'extend': {
            'type': ['object', 'null'],
            'properties': {'expires_in': _SECONDS},
            'additionalProperties': False,
        },
        'hold': {
            'type': ['object', 'null'],
            'properties': {},
            'additionalProperties': False,
        },
        'release': {
            'type': ['object', 'null'],
            'properties': {
                'members': {
                    'type': ['array', 'null'],
                    'items': {'type': 'string'},
                    'minItems': 1,
                    'uniqueItems': True,
                },
            },
            'additionalProperties': False,
        },
    },
    'additionalProperties': False,
}

NOTHING = {'type': 'object', 'properties': {}, 'additionalProperties': False}

LIST = {
    'type': 'object',
    'properties': {
        'limit': {'type': 'string'},
        'marker': {'type': 'string'},
        'name': {'type': 'string'},
        'status': {
            'enum': [
                str(status)
                for status in states.Group
                if status != states.Group.RELEASING
            ]
        },
        'all_projects': {'enum': ['true', 'True', '1', 'false', 'False', '0']},
    },
    'additionalProperties': False,
}

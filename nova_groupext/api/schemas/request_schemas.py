# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and query strings of ``/os-vrt-groups``.

nova_groupext.solver.language.topology checks the topology.
"""

from nova_groupext.objects import listing
from nova_groupext.objects import states

_TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_DESCRIPTION = {'type': ['string', 'null'], 'maxLength': 1024}
# describe.check_expires_in() applies the operator's maximum.
_SECONDS = {'type': 'integer', 'minimum': 1}

# Paths of some members; without them, all members.
_MEMBERS = {
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
}

_SERVER_PROPERTIES = (
    'adminPass',
    'block_device_mapping_v2',
    'config_drive',
    'description',
    'key_name',
    'metadata',
    'name',
    'networks',
    'security_groups',
    'tags',
    'user_data',
)

#: Properties of a server that its member's description does not determine.
#: Nova's schema of POST /servers checks their values.
TEMPLATE = {
    'type': 'object',
    'properties': {
        'image': _TEXT,
        **{name: {} for name in _SERVER_PROPERTIES},
    },
    'additionalProperties': False,
}

_BOOT = {
    'type': ['object', 'null'],
    'properties': {
        'servers': {
            'type': 'object',
            'additionalProperties': TEMPLATE,
        },
    },
    'additionalProperties': False,
}

CREATE = {
    'type': 'object',
    'properties': {
        'vrt_group': {
            'type': 'object',
            'properties': {
                'name': _TEXT,
                'description': _DESCRIPTION,
                'hold': {'type': 'boolean'},
                'expires_in': _SECONDS,
                'client_token': _TEXT,
                'boot': _BOOT,
                'topology': {'type': 'object'},
            },
            'required': ['name', 'topology'],
            'additionalProperties': False,
        },
    },
    'required': ['vrt_group'],
    'additionalProperties': False,
}

UPDATE = {
    'type': 'object',
    'properties': {
        'vrt_group': {
            'type': 'object',
            'properties': {
                'generation': {'type': 'integer', 'minimum': 1},
                'name': _TEXT,
                'description': _DESCRIPTION,
                'expires_in': _SECONDS,
                'keep_server': {'type': 'boolean'},
                'topology': {'type': 'object'},
            },
            'required': ['generation'],
            'additionalProperties': False,
        },
    },
    'required': ['vrt_group'],
    'additionalProperties': False,
}

#: Description of a member, without its count and min_count.
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

_GENERATION = {'type': 'integer', 'minimum': 1}

#: New member, or an increment of the count of an existing one, with the
#: expected generation of the group.
ADD = {
    'type': 'object',
    'properties': {
        'member': {
            'type': 'object',
            'properties': {
                'path': {'type': 'string', 'minLength': 1, 'maxLength': 512},
                'count': {'type': 'integer', 'minimum': 1},
                'generation': _GENERATION,
            },
            'required': ['path'],
        },
    },
    'required': ['member'],
    'additionalProperties': False,
}

_ACTIONS = {
    'adopt': {
        'type': 'object',
        'properties': {
            # {path of a member: uuid of the server that becomes it}
            'servers': {
                'type': 'object',
                'minProperties': 1,
                'additionalProperties': {'type': 'string'},
            },
        },
        'required': ['servers'],
        'additionalProperties': False,
    },
    'boot': _BOOT,
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
    'propose': {
        'type': ['object', 'null'],
        'properties': {},
        'additionalProperties': False,
    },
    'release': _MEMBERS,
    'replan': _MEMBERS,
}

#: Every action may carry the expected generation of the group.
ACTION = {
    'type': 'object',
    'properties': {
        name: {
            **schema,
            'properties': {**schema['properties'], 'generation': _GENERATION},
        }
        for name, schema in _ACTIONS.items()
    },
    'additionalProperties': False,
}

_FLAG = {'enum': ['true', 'True', '1', 'false', 'False', '0']}

# Expected generation in a query string.
_GENERATION_TEXT = {'type': 'string', 'pattern': '^[1-9][0-9]{0,9}$'}

DELETE = {
    'type': 'object',
    'properties': {'generation': _GENERATION_TEXT},
    'additionalProperties': False,
}

REMOVE = {
    'type': 'object',
    'properties': {'keep_server': _FLAG, 'generation': _GENERATION_TEXT},
    'additionalProperties': False,
}

MEMBERS = {
    'type': 'object',
    'properties': {
        'limit': {'type': 'string'},
        'marker': {'type': 'string'},
        'status': {'enum': [str(status) for status in states.Member]},
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
        'member_status': {'enum': [str(status) for status in states.Member]},
        'server_id': {'type': 'string'},
        'client_token': {'type': 'string'},
        'project_id': {'type': 'string'},
        'changes-since': {'type': 'string'},
        'sort_key': {'enum': [*listing.SORT_KEYS]},
        'sort_dir': {'enum': ['asc', 'desc']},
        'all_projects': _FLAG,
        'all_tenants': _FLAG,
    },
    'additionalProperties': False,
}

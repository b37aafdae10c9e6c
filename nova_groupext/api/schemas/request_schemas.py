# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and query strings of ``/os-vrt-groups``.

nova_groupext.solver.language.parser checks the topology.
"""

from nova_groupext.objects import listing
from nova_groupext.objects import states


def _object(properties, required=(), *, may_be_null=False):
    """Return the schema of an object that has no other properties."""
    return {
        'type': ['object', 'null'] if may_be_null else 'object',
        'properties': properties,
        'required': [*required],
        'additionalProperties': False,
    }


_STRING = {'type': 'string'}
_TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_DESCRIPTION = {'type': ['string', 'null'], 'maxLength': 1024}
# describe.check_expires_in() applies the operator's maximum.
_SECONDS = {'type': 'integer', 'minimum': 1}

_GENERATION = {'type': 'integer', 'minimum': 1}

# Paths of some members; without them, all members.
_MEMBERS = _object(
    {
        'members': {
            'type': ['array', 'null'],
            'items': _STRING,
            'minItems': 1,
            'uniqueItems': True,
        },
    },
    may_be_null=True,
)

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
TEMPLATE = _object(
    {'image': _TEXT, **{name: {} for name in _SERVER_PROPERTIES}}
)

_BOOT = _object(
    {'servers': {'type': 'object', 'additionalProperties': TEMPLATE}},
    may_be_null=True,
)

_CREATED = {
    'name': _TEXT,
    'description': _DESCRIPTION,
    'hold': {'type': 'boolean'},
    'expires_in': _SECONDS,
    'client_token': _TEXT,
    'boot': _BOOT,
    'topology': {'type': 'object'},
}

CREATE = _object(
    {'vrt_group': _object(_CREATED, ['name', 'topology'])}, ['vrt_group']
)

_UPDATED = {
    'generation': _GENERATION,
    'name': _TEXT,
    'description': _DESCRIPTION,
    'expires_in': _SECONDS,
    'keep_server': {'type': 'boolean'},
    'topology': {'type': 'object'},
}

UPDATE = _object(
    {'vrt_group': _object(_UPDATED, ['generation'])}, ['vrt_group']
)

#: Description of a member, without its count and min_count.
MEMBER = _object(
    {
        'flavor': _TEXT,
        'image': _TEXT,
        'boot_from_volume': {'type': 'boolean'},
        'availability_zone': _TEXT,
    },
    ['flavor'],
)

#: New member, or an increment of the count of an existing one, with the
#: expected generation of the group.
ADD = _object(
    {
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
    ['member'],
)

# {path of a member: uuid of the server that becomes it}
_SERVERS = {
    'type': 'object',
    'minProperties': 1,
    'additionalProperties': _STRING,
}

_ACTIONS = {
    'adopt': _object({'servers': _SERVERS}, ['servers']),
    'boot': _BOOT,
    'extend': _object({'expires_in': _SECONDS}, may_be_null=True),
    'hold': _object({}, may_be_null=True),
    'propose': _object({}, may_be_null=True),
    'release': _MEMBERS,
    'replan': _MEMBERS,
}

#: Every action may carry the expected generation of the group.
ACTION = _object(
    {
        name: {
            **schema,
            'properties': {**schema['properties'], 'generation': _GENERATION},
        }
        for name, schema in _ACTIONS.items()
    }
)

_FLAG = {'enum': ['true', 'True', '1', 'false', 'False', '0']}

# Expected generation in a query string.
_GENERATION_TEXT = {'type': 'string', 'pattern': '^[1-9][0-9]{0,9}$'}

_STORED_STATUS = {'enum': [str(status) for status in states.Member]}
_MEMBER_STATUS = {'enum': [*_STORED_STATUS['enum'], states.LEAVING]}

_GROUP_STATUS = {
    'enum': [
        str(status)
        for status in states.Group
        if status != states.Group.RELEASING
    ]
}

NOTHING = _object({})

DELETE = _object({'generation': _GENERATION_TEXT})

REMOVE = _object({'keep_server': _FLAG, 'generation': _GENERATION_TEXT})

MEMBERS = _object(
    {'limit': _STRING, 'marker': _STRING, 'status': _MEMBER_STATUS}
)

LIST = _object(
    {
        'limit': _STRING,
        'marker': _STRING,
        'name': _STRING,
        'status': _GROUP_STATUS,
        'member_status': _STORED_STATUS,
        'server_id': _STRING,
        'client_token': _STRING,
        'project_id': _STRING,
        'changes-since': _STRING,
        'sort_key': {'enum': [*listing.SORT_KEYS]},
        'sort_dir': {'enum': ['asc', 'desc']},
        'all_projects': _FLAG,
        'all_tenants': _FLAG,
    }
)

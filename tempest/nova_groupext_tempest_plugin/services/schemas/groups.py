# SPDX-License-Identifier: Apache-2.0
"""Schemas of groups, their members, and proposals.

``TENANT`` and ``ADMIN`` have the same attributes. Responses to admins have
more fields; such a field in a response to a tenant is an error.
"""

import types

from nova_groupext_tempest_plugin.services.schemas import shapes
from nova_groupext_tempest_plugin.services.schemas import topology

GROUP_STATUSES = (
    'PLANNING',
    'PLANNED',
    'HELD',
    'ACTIVE',
    'REFUSED',
    'UNDECIDED',
    'ERROR',
    'RELEASED',
)
MEMBER_STATUSES = (
    'TENTATIVE',
    'HELD',
    'REDEEMING',
    'ACTIVE',
    'SHELVED',
    'LEAVING',
    'FAILED',
    'RELEASED',
)
_STATUS = {'enum': list(GROUP_STATUSES)}
_DOMAINS = shapes.mapping(shapes.TEXT)
_LINKS = shapes.array(shapes.closed({'rel': shapes.TEXT, 'href': shapes.TEXT}))

_SUMMARY = {
    'id': shapes.TEXT,
    'name': shapes.TEXT,
    'status': _STATUS,
    'generation': shapes.INTEGER,
    'project_id': shapes.TEXT,
    'links': _LINKS,
}

_POLICY_NAME = shapes.closed({'type': shapes.TEXT, 'scope': shapes.TEXT})
_VIOLATION = {'at': {'type': 'string'}, 'policy': _POLICY_NAME}

_CHANGE = {
    'at': {'type': 'string'},
    'policy': shapes.TEXT,
    'scope': shapes.TEXT,
    'strict': shapes.BOOLEAN,
    'members': shapes.TEXT,
    'min_count': shapes.INTEGER,
    'min_counts': shapes.mapping(shapes.INTEGER),
}

_REASON = shapes.closed({'code': shapes.TEXT, 'text': shapes.TEXT})
_CONFLICT = shapes.closed(
    {
        'kind': {'enum': ['policy', 'members']},
        'at': {'type': 'string'},
        'policy': _POLICY_NAME,
        'members': shapes.TEXT,
        'subtree': shapes.BOOLEAN,
        'code': shapes.TEXT,
        'text': shapes.TEXT,
    },
    optional=('policy', 'members', 'subtree'),
)


def _refusal(for_admin):
    # A class of members with the same needs, as the planner names it.
    fields = {**_CHANGE, 'class': shapes.TEXT} if for_admin else _CHANGE
    change = shapes.closed(fields, optional=fields)
    together = {'together': shapes.array(change)}
    change = shapes.closed({**fields, **together}, [*fields, *together])
    relaxation = shapes.closed({'change': change, 'text': shapes.TEXT})
    return shapes.nullable(
        shapes.closed(
            {
                'conflict': shapes.array(_CONFLICT),
                'minimal': shapes.BOOLEAN,
                'reason': shapes.nullable(_REASON),
                'relaxations': shapes.array(relaxation),
            }
        )
    )


_FAULT = shapes.closed(
    {
        'code': shapes.NUMBER,
        'message': shapes.TEXT,
        'created': shapes.TIME_OR_NULL,
    }
)
_FAULT_OR_NULL = shapes.nullable(_FAULT)

_EVENT = shapes.closed(
    {
        'event': shapes.TEXT,
        'created_at': shapes.TIME,
        'request_id': shapes.TEXT_OR_NULL,
        'user_id': shapes.TEXT_OR_NULL,
        'project_id': shapes.TEXT_OR_NULL,
        'message': shapes.TEXT_OR_NULL,
    }
)


_SPEC = shapes.closed(
    {
        'flavor': shapes.TEXT,
        'image': shapes.TEXT_OR_NULL,
        'availability_zone': shapes.TEXT_OR_NULL,
    },
    optional=('flavor', 'image', 'availability_zone'),
)


def _member(for_admin):
    host = {'host': shapes.TEXT_OR_NULL} if for_admin else {}
    resize = {
        'from': shapes.TEXT,
        'to': shapes.TEXT,
        'held': shapes.BOOLEAN,
        **host,
    }
    return shapes.closed(
        {
            'path': shapes.TEXT,
            'status': {'enum': list(MEMBER_STATUSES)},
            'server_id': shapes.TEXT_OR_NULL,
            'expires_at': shapes.TIME_OR_NULL,
            'domains': _DOMAINS,
            'fault': _FAULT_OR_NULL,
            'resize': shapes.nullable(shapes.closed(resize)),
            'grown': shapes.BOOLEAN,
            'pending': shapes.nullable(
                shapes.closed({'from': _SPEC, 'to': _SPEC})
            ),
            'successor': shapes.nullable(
                shapes.closed(
                    {
                        'server_id': shapes.TEXT,
                        'status': {'enum': list(MEMBER_STATUSES)},
                    }
                )
            ),
            **host,
        }
    )


def _revision(for_admin):
    return shapes.nullable(
        shapes.closed(
            {
                'status': _STATUS,
                'origin': {'enum': ['request', 'create', 'replacement']},
                'name': shapes.TEXT,
                'description': shapes.TEXT_OR_NULL,
                'created_at': shapes.TIME,
                'topology': topology.NODE,
                'servers': shapes.mapping(shapes.TEXT),
                'held_again': shapes.array(shapes.TEXT),
                'fault': _FAULT_OR_NULL,
                'refusal': _refusal(for_admin),
            }
        )
    )


_BOOT = shapes.closed(
    {
        'status': {'enum': ['booting', 'done', 'stopped']},
        'request_id': shapes.TEXT,
        'created_at': shapes.TIME,
        'updated_at': shapes.TIME_OR_NULL,
        'missing': shapes.NUMBER,
        'created': shapes.NUMBER,
        'faults': shapes.array(
            shapes.closed({'path': shapes.TEXT, 'fault': _FAULT})
        ),
        'fault': _FAULT_OR_NULL,
    }
)


def _detail(for_admin):
    cost = {'cost': shapes.NUMBER} if for_admin else {}
    detail = {
        **_SUMMARY,
        'description': shapes.TEXT_OR_NULL,
        'user_id': shapes.TEXT,
        'created_at': shapes.TIME,
        'updated_at': shapes.TIME_OR_NULL,
        'expires_at': shapes.TIME_OR_NULL,
        'topology': topology.NODE,
        'subgroups': shapes.mapping(shapes.TEXT),
        'members': shapes.array(_member(for_admin)),
        'fault': _FAULT_OR_NULL,
        'refusal': _refusal(for_admin),
        'violations': shapes.array(shapes.closed({**_VIOLATION, **cost})),
        'revision': _revision(for_admin),
        'drift': shapes.array(shapes.closed(_VIOLATION)),
        'boot': shapes.nullable(_BOOT),
        'events': shapes.array(_EVENT),
    }
    return shapes.closed({**detail, **_FOR_ADMINS} if for_admin else detail)


_FOR_ADMINS = {
    'cost': shapes.nullable(
        shapes.closed(
            {
                'soft': shapes.NUMBER,
                'bound': shapes.NUMBER,
                'preference': shapes.NUMBER,
                # Of a group that had holds.
                'changes': shapes.INTEGER,
            },
            optional=['changes'],
        )
    ),
    # Statistics of the planner; the keys depend on the course of its search.
    'stats': {'type': ['object', 'null']},
}


def _proposal(for_admin):
    move = {
        'path': shapes.TEXT,
        'server_id': shapes.TEXT,
        'domains': _DOMAINS,
        **({'host': shapes.TEXT} if for_admin else {}),
    }
    return shapes.closed(
        {
            'status': {'enum': ['planning', 'placed', 'refused', 'undecided']},
            'fewest': shapes.BOOLEAN,
            'created_at': shapes.TEXT,
            'moves': shapes.array(shapes.closed(move)),
        }
    )


def _page(name, item_schema):
    links = f'{name}_links'
    return shapes.closed(
        {name: shapes.array(item_schema), links: _LINKS}, optional=[links]
    )


def _schemas(for_admin):
    """Return the response schemas, named after the client's methods."""
    detail = topology.with_node(
        shapes.closed({'vrt_group': _detail(for_admin)})
    )
    member = _member(for_admin)
    location = {'type': 'object', 'required': ['location']}
    return types.SimpleNamespace(
        show=shapes.response(200, detail),
        create=shapes.response(202, detail, response_header=location),
        update=shapes.response(202, detail),
        delete=shapes.response(202),
        list=shapes.response(
            200, _page('vrt_groups', shapes.closed(_SUMMARY))
        ),
        list_detail=shapes.response(
            200,
            topology.with_node(_page('vrt_groups', _detail(for_admin))),
        ),
        action=shapes.response(202),
        proposal=shapes.response(
            200, shapes.closed({'proposal': _proposal(for_admin)})
        ),
        list_members=shapes.response(200, _page('members', member)),
        show_member=shapes.response(200, shapes.closed({'member': member})),
        change_members=shapes.response(202),
    )


TENANT = _schemas(for_admin=False)
ADMIN = _schemas(for_admin=True)

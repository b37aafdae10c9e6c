# SPDX-License-Identifier: Apache-2.0
"""Schema of the capabilities of a cloud: scopes, policies and limits."""

from nova_groupext_tempest_plugin.services.schemas import shapes

_LIMITS = (
    'max_members',
    'max_depth',
    'max_entries_per_list',
    'max_classes',
    'max_body_size',
    'max_groups_per_project',
    'max_planning_per_project',
    'max_held_members_per_project',
    'default_expires_in',
    'max_expires_in',
    'max_hold_lifetime',
    'max_waiting_creates_per_project',
)

_QUOTAS = ('instances', 'cores', 'ram', 'held_members')
_QUOTA = shapes.closed(
    dict.fromkeys(('limit', 'used', 'held'), shapes.INTEGER)
)

#: Parameter of a policy, which the API describes as a JSON schema.
_PARAMETER = shapes.closed(
    {
        'type': {'enum': ['boolean', 'integer', 'number', 'string']},
        'minimum': shapes.NUMBER,
        'exclusiveMinimum': shapes.NUMBER,
        'maximum': shapes.NUMBER,
        'default': {},
        'required': shapes.BOOLEAN,
    },
    optional=(
        'minimum',
        'exclusiveMinimum',
        'maximum',
        'default',
        'required',
    ),
)

CAPABILITIES = shapes.response(
    200,
    shapes.closed(
        {
            'capabilities': shapes.closed(
                {
                    'version': shapes.TEXT,
                    'features': shapes.array(shapes.TEXT),
                    'scopes': shapes.array(shapes.TEXT),
                    'policies': shapes.mapping(shapes.mapping(_PARAMETER)),
                    'limits': shapes.closed(
                        dict.fromkeys(_LIMITS, shapes.INTEGER)
                    ),
                    'quota': shapes.closed(dict.fromkeys(_QUOTAS, _QUOTA)),
                }
            )
        }
    ),
)

# SPDX-License-Identifier: Apache-2.0
"""Capabilities of this cloud: policies, scopes, limits and quota."""

import dataclasses

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.solver.language import schemas
from nova_groupext.solver.policies import registry

#: Version of the features that clients can rely on.
VERSION = '1.0'

#: What a cloud of this version does, for clients of several versions
FEATURES = (
    'growing',
    'images_like_the_described',
    'leaving_servers',
    'server_group_hint',
    'successors',
)

LIMITS = (
    'max_members',
    'max_depth',
    'max_entries_per_list',
    'max_classes',
    'max_groups_per_project',
    'max_planning_per_project',
    'max_held_members_per_project',
    'default_expires_in',
    'max_expires_in',
    'max_hold_lifetime',
    'max_waiting_creates_per_project',
)


def view(quotas):
    """Return the answer to ``GET /os-vrt-groups/capabilities``.

    :param quotas: {resource: {limit, used, held}} of the caller's project
    """
    return {
        'capabilities': {
            'version': VERSION,
            'features': [*FEATURES],
            'scopes': vrt.levels(CONF),
            'policies': {
                name: _parameters(name, schema)
                for name, schema in schemas.group_policies().items()
            },
            'limits': {
                **{name: CONF.vrt[name] for name in LIMITS},
                'max_body_size': CONF.oslo_middleware.max_request_body_size,
            },
            'quota': quotas,
        }
    }


def _parameters(name, schema):
    """Return {parameter: its JSON schema plus ``required`` or ``default``}."""
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(registry.get(name))
    }
    return {
        key: {
            **shape,
            **(
                {'required': True}
                if key in schema['required']
                else {'default': defaults[key]}
            ),
        }
        for key, shape in schema['properties'].items()
        if key != 'type'
    }
